import { waitOrAbort, withTimeout } from '../common/wait.ts';

/** A caller that gives up earlier does not end the GET, because others may wait for it. */
const GET_TIMEOUT_MS = 2_000;

/**
 * Shares the GET of an object among all callers that arrive before its response. It can be older than a call, so its
 * result confirms a denial and never proves that a config is unused.
 */
export class SharedGets<Result> {
  readonly #running = new Map<string, Promise<Result>>();

  /**
   * Returns the result of the GET that runs, or else of a new one.
   *
   * @param key identifies the object
   * @throws the error of the GET, or the signal's reason
   */
  async get(key: string, send: (signal: AbortSignal) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const running = this.#running.get(key) ?? this.#start(key, send);
    return await waitOrAbort(running, signal);
  }

  #start(key: string, send: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const result = withTimeout(GET_TIMEOUT_MS, new AbortController().signal, send).finally(() => {
      this.#running.delete(key);
    });
    this.#running.set(key, result);
    return result;
  }
}
