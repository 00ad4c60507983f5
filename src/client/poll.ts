import { isTimeout, NEVER_ABORTED, sleep, withTimeout } from '../common/wait.ts';
import { isRetryableRead } from './cluster-access.ts';

export interface PollOptions<Answer> {
  readonly read: (signal: AbortSignal) => Promise<Answer>;
  readonly isSettled: (answer: Answer) => boolean;
  readonly timeoutMs: number;
  /** Measured from the start of the poll; 0 if a retry cannot help. */
  readonly retryUntilMs: (error: unknown, hasAnswered: boolean) => number;
  readonly onAnswer?: (answer: Answer, elapsedMs: number) => void;
  readonly onFailure?: (error: unknown, elapsedMs: number) => void;
  readonly intervalMs?: number;
  readonly signal: AbortSignal;
  /** Replaces the timer of these pauses, for a simulated clock. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
}

/** Of all requests of an answer, each of which has its own timeout: 50,000 nodes take tens of seconds. */
const MAX_READ_MS = 120_000;
const MIN_READ_TIMEOUT_MS = 5_000;
const INTERVAL_MS = 2_000;
/** A pause is this many times as long as the last read, to spare large clusters. */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 10_000;
const RETRY_MS = 5_000;
const RETRY_INTERVAL_MS = 500;

/**
 * If the time ends during a read, the answer before it counts.
 * @throws the last error of `read`, when it is not retried, or the signal's reason
 */
export async function pollUntilSettled<Answer>(options: PollOptions<Answer>) {
  const { read, isSettled, timeoutMs, retryUntilMs, intervalMs = INTERVAL_MS, signal } = options;
  const startedAt = performance.now();
  const getElapsedMs = (): number => performance.now() - startedAt;
  let last: { readonly answer: Answer; readonly elapsedMs: number } | undefined;
  for (;;) {
    const readStartMs = getElapsedMs();
    let untilMs = timeoutMs;
    try {
      const limitMs = Math.min(MAX_READ_MS, Math.max(timeoutMs - readStartMs, MIN_READ_TIMEOUT_MS));
      const answer = await withTimeout(limitMs, signal, read);
      const elapsedMs = getElapsedMs();
      last = { answer, elapsedMs };
      options.onAnswer?.(answer, elapsedMs);
      if (isSettled(answer) || elapsedMs >= timeoutMs) return last;
    } catch (error) {
      if (last !== undefined && isTimeout(error) && getElapsedMs() >= timeoutMs) return last;
      untilMs = Math.min(retryUntilMs(error, last !== undefined), timeoutMs);
      if (untilMs > 0) options.onFailure?.(error, getElapsedMs());
      if (getElapsedMs() >= untilMs) throw error;
    }
    const pauseMs = Math.min(PAUSE_FACTOR * (getElapsedMs() - readStartMs), MAX_PAUSE_MS);
    const sleepMs = Math.max(0, Math.min(untilMs - getElapsedMs(), Math.max(intervalMs, pauseMs)));
    await (options.sleep?.(sleepMs) ?? sleep(sleepMs, signal));
    signal.throwIfAborted();
  }
}

/** Retries while the API server is busy or restarts. Then throws the last error. */
export async function readWithRetries<T>(read: (signal: AbortSignal) => Promise<T>, signal = NEVER_ABORTED) {
  const { answer } = await pollUntilSettled({
    read,
    isSettled: () => true,
    timeoutMs: MAX_READ_MS,
    retryUntilMs: (error) => (isRetryableRead(error) ? RETRY_MS : 0),
    intervalMs: RETRY_INTERVAL_MS,
    signal,
  });
  return answer;
}
