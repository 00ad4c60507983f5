/** A command line that the command does not accept. The message is one sentence. */
export class UsageError extends Error {}

/** @throws UsageError if the value is not a whole number of at least `min` */
export function parseWholeNumber(option: string, text: string, min = 1) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new UsageError(`--${option} needs a whole number of at least ${min}, not ${text}.`);
}

/** Returns undefined for an error that is not about the command line. */
export function describeUsageError(error: unknown) {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof UsageError) return error.message;
  // After its first sentence, util.parseArgs only explains how to escape arguments.
  const { code = '' } = error as NodeJS.ErrnoException;
  return code.startsWith('ERR_PARSE_ARGS') ? `${error.message.split('. ')[0]?.replace(/\.$/, '')}.` : undefined;
}
