export interface UntilOptions {
  readonly timeoutMs: number;
  readonly everyMs?: number;
}

/** Asks again and again until the answer is neither false nor undefined; throws naming what was waited for. */
export async function until<Answer>(
  what: string | (() => string),
  ask: () => Promise<Answer | false | undefined>,
  { timeoutMs, everyMs = 100 }: UntilOptions,
): Promise<Answer> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer;
    if (Date.now() > deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${typeof what === 'string' ? what : what()}, in vain.`);
    }
    await pause(everyMs);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
