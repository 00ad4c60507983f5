import { NEVER_ABORTED, waitOrAbort, withTimeout } from '../common/wait.ts';

/** A caller that gives up earlier does not end the GET, because others may wait for it. */
const GET_TIMEOUT_MS = 2_000;

/**
 * Shares GETs of the same object among callers, one at a time. A caller only joins a GET that has not been sent, so the
 * result contains every write that was acknowledged before the call.
 */
export class SharedGets<Result> {
  readonly #running = new Map<string, Promise<Result>>();
  /** The GETs that wait for the end of the running one. */
  readonly #next = new Map<string, Promise<Result>>();

  /**
   * Returns the result of a GET that is sent after this call.
   *
   * @param key identifies the object
   * @throws the error of the GET, or the signal's reason
   */
  async get(key: string, send: (signal: AbortSignal) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const running = this.#running.get(key);
    const result = this.#next.get(key) ?? this.#start(key, send, running);
    if (running !== undefined) this.#next.set(key, result);
    return await waitOrAbort(result, signal);
  }

  async #start(
    key: string,
    send: (signal: AbortSignal) => Promise<Result>,
    running: Promise<Result> | undefined,
  ): Promise<Result> {
    if (running !== undefined) await running.catch(() => {});
    this.#next.delete(key);
    const result = withTimeout(GET_TIMEOUT_MS, NEVER_ABORTED, send).finally(() => {
      this.#running.delete(key);
    });
    this.#running.set(key, result);
    return await result;
  }
}
