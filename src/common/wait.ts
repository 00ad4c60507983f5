import { addAbortListener, once, setMaxListeners } from 'node:events';

/** For work that nothing ends early. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
// Each wait removes its listener, but Node warns about more than ten waits at a time.
setMaxListeners(0, NEVER_ABORTED);

/** Returns early if the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const sleeping = limitSignal(ms, signal);
  await once(sleeping.signal, 'abort');
  sleeping.release();
}

/** Rejects with the signal's reason when it aborts. The promise continues. */
export async function waitOrAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let listener: Disposable | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    listener = addAbortListener(signal, () => reject(signal.reason as Error));
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    listener?.[Symbol.dispose]();
  }
}

const MAX_BACKOFF_MS = 60_000;

/** Works repeatedly, with pauses, until the signal aborts. Never rejects: after an error it pauses longer. */
export async function repeat(
  pauseMs: number,
  signal: AbortSignal,
  work: () => void | Promise<void>,
  onError: (error: unknown) => void | Promise<void>,
): Promise<void> {
  const backoff = new Backoff(pauseMs, MAX_BACKOFF_MS);
  while (!signal.aborted) {
    let backoffMs = 0;
    try {
      await work();
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      backoffMs = backoff.next();
      try {
        await onError(error);
      } catch {
        // Nothing is left that could report it.
      }
    }
    await sleep(pauseMs + backoffMs, signal);
  }
}

/**
 * Returns a signal that aborts with another one, or after `ms` milliseconds with an error, by default a TimeoutError.
 * `refresh` starts the timeout again, and `release` stops it and leaves the other signal. AbortSignal.any would leak
 * with a long-lived signal, and a garbage collection can remove its timeout (nodejs/node#57736).
 */
export function limitSignal(
  ms: number,
  signal: AbortSignal,
  createError = (): Error => new DOMException(`took longer than ${ms} ms`, 'TimeoutError'),
) {
  signal.throwIfAborted();
  const limit = new AbortController();
  const abort = (reason: unknown): void => limit.abort(reason);
  const onAbort = (): void => abort(signal.reason);
  const timer = setTimeout(() => abort(createError()), ms);
  signal.addEventListener('abort', onAbort, { once: true });
  const release = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return { signal: limit.signal, abort, refresh: () => timer.refresh(), release };
}

/** Calls `work` with a signal that also aborts after `ms` milliseconds, with a TimeoutError. */
export async function withTimeout<T>(
  ms: number,
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = limitSignal(ms, signal);
  try {
    return await work(limited.signal);
  } finally {
    limited.release();
  }
}

/** Whether a signal of {@link withTimeout} or of AbortSignal.timeout caused the error. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

/** Exponential, with jitter, so that replicas do not reconnect together. */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  #failures = 0;

  constructor(firstMs: number, maxMs: number) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
  }

  /** Milliseconds until the next attempt: between half and all of a step that doubles up to the maximum. */
  next(): number {
    const step = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return step * (0.5 + 0.5 * Math.random());
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** A time by both clocks of this machine. */
export interface Moment {
  /** Milliseconds of the monotonic clock, which stands still while a virtual machine sleeps. */
  readonly ms: number;
  /** Of the wall clock, which can be wrong, and be set. */
  readonly date: Date;
}

/** Returns the present time. */
export function readClocks(): Moment {
  return { ms: performance.now(), date: new Date() };
}

/** Returns the milliseconds since a moment, by the clock that has counted more. */
export function measureAge({ ms, date }: Moment): number {
  return Math.max(performance.now() - ms, Date.now() - date.getTime());
}
