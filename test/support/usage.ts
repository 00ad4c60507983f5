/** Wrong usage of a command; the message is one sentence. */
export class Usage extends Error {}

/** The value of an option that is a whole number, at least so large. Throws {@link Usage}. */
export function wholeNumber(option: string, text: string, atLeast = 1): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= atLeast) return value;
  throw new Usage(`--${option} needs a whole number of at least ${atLeast}, not ${text}.`);
}

/** What is wrong with the way in which a command was called, in one sentence; undefined where the error is another one. */
export function wrongUsage(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof Usage) return error.message;
  // util.parseArgs says it in an error of its own; what follows the first sentence is advice on escaping that is of no use here.
  const { code = '' } = error as NodeJS.ErrnoException;
  return code.startsWith('ERR_PARSE_ARGS') ? `${error.message.split('. ')[0]?.replace(/\.$/, '')}.` : undefined;
}
