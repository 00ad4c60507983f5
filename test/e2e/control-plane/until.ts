import { setTimeout as pause } from 'node:timers/promises';

export { pause };

/**
 * Polls until the answer is neither false nor undefined.
 * @param what the condition, for the error message
 * @param options the default timeout is for a busy machine
 * @throws Error when the timeout passes
 */
export async function until<Answer>(
  what: string | (() => string),
  poll: () => Promise<Answer | false | undefined>,
  { timeoutMs = 300_000, everyMs = 100 } = {},
): Promise<Answer> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await poll();
    if (answer !== false && answer !== undefined) return answer;
    if (Date.now() > deadline) {
      throw new Error(`Waited ${timeoutMs} ms in vain for ${typeof what === 'string' ? what : what()}`);
    }
    await pause(everyMs);
  }
}

/** Whether a GET returns 2xx; false also if the port is closed. */
export async function isHealthy(url: string) {
  const response = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  return response?.ok === true;
}
