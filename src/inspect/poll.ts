import { setTimeout } from 'node:timers/promises';
import { withTimeout } from '../kube/wait.ts';
import { isRetryableRead } from './cluster-access.ts';

/** Times are milliseconds. */
export interface PollOptions<Answer> {
  /** Reads the cluster once within this time. */
  readonly read: (timeoutMs: number) => Promise<Answer>;
  readonly isSettled: (answer: Answer) => boolean;
  readonly timeoutMs: number;
  /** Until when this error is retried; 0 if a retry cannot help. */
  readonly retryUntilMs: (error: unknown, hasAnswered: boolean) => number;
  readonly onAnswer?: (answer: Answer, elapsedMs: number) => void;
  readonly onFailure?: (error: unknown, elapsedMs: number) => void;
  readonly intervalMs?: number;
}

/** Two thousand nodes are listed in a fraction of this time. */
const READ_TIMEOUT_MS = 30_000;
/** With less time, the last read would make the API server look unreachable. */
const MIN_READ_TIMEOUT_MS = 5_000;
const INTERVAL_MS = 2_000;
/** Pauses are this many times as long as a read: polling must not load a large cluster. */
const PAUSE_PER_READ = 4;
/** A read that hung until its timeout says nothing about the load. */
const MAX_PAUSE_MS = 10_000;

/** For a single read, while the API server is busy or restarts. */
export const RETRY_TIMEOUT_MS = 5_000;
export const RETRY_INTERVAL_MS = 500;

/** Throws an error that is not retried any more. */
export async function pollUntilSettled<Answer>(options: PollOptions<Answer>) {
  const { read, isSettled, timeoutMs, retryUntilMs, intervalMs = INTERVAL_MS } = options;
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;
  let hasAnswered = false;
  for (;;) {
    const readAtMs = elapsedMs();
    let untilMs = timeoutMs;
    let result: { answer: Answer } | { error: unknown };
    try {
      const answer = await read(Math.min(READ_TIMEOUT_MS, Math.max(timeoutMs - readAtMs, MIN_READ_TIMEOUT_MS)));
      hasAnswered = true;
      options.onAnswer?.(answer, elapsedMs());
      if (isSettled(answer)) return { answer, elapsedMs: elapsedMs() };
      result = { answer };
    } catch (error) {
      untilMs = Math.min(retryUntilMs(error, hasAnswered), timeoutMs);
      if (untilMs > 0) options.onFailure?.(error, elapsedMs());
      result = { error };
    }
    const leftMs = untilMs - elapsedMs();
    if (leftMs <= 0) {
      if ('error' in result) throw result.error;
      return { answer: result.answer, elapsedMs: elapsedMs() };
    }
    const pauseMs = Math.min(PAUSE_PER_READ * (elapsedMs() - readAtMs), MAX_PAUSE_MS);
    await setTimeout(Math.min(leftMs, Math.max(intervalMs, pauseMs)));
  }
}

/** Retries for a few seconds while the API server is busy or restarts. */
export async function readWithRetries<T>(read: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { answer } = await pollUntilSettled({
    read: async () => await withTimeout(READ_TIMEOUT_MS, new AbortController().signal, read),
    isSettled: () => true,
    timeoutMs: RETRY_TIMEOUT_MS,
    retryUntilMs: (error) => (isRetryableRead(error) ? RETRY_TIMEOUT_MS : 0),
    intervalMs: RETRY_INTERVAL_MS,
  });
  return answer;
}
