import { waitOrAbort } from '../kube/wait.ts';

/** The next GET of the same object starts beside one that hangs, but not beside many. */
const MAX_CONCURRENT_GETS = 2;

type SendGet<Result> = (signal: AbortSignal) => Promise<Result>;

/** The GETs of one object. */
interface ObjectGets<Result> {
  runningCount: number;
  /** Not sent yet, so callers can join it. */
  next: SharedGet<Result> | undefined;
}

/**
 * Shares GETs of the same object among callers. A caller only joins a GET that has not been sent, so its result
 * contains every write that was acknowledged before the call.
 */
export class SharedGets<Result> {
  readonly #getsByKey = new Map<string, ObjectGets<Result>>();

  /**
   * Returns the result of a GET that is sent after this call.
   *
   * @param key identifies the object
   * @param send sends the GET; its signal aborts when no caller waits
   * @throws the error of the GET, or the signal's reason
   */
  async get(key: string, send: SendGet<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    const gets = this.#getsByKey.get(key) ?? { runningCount: 0, next: undefined };
    this.#getsByKey.set(key, gets);
    const get = (gets.next ??= new SharedGet(send));
    get.callerCount += 1;
    this.#startNext(key, gets);
    try {
      return await waitOrAbort(get.result, signal);
    } finally {
      get.callerCount -= 1;
      if (get.callerCount === 0) {
        get.abort();
        if (gets.next === get) gets.next = undefined;
      }
    }
  }

  #startNext(key: string, gets: ObjectGets<Result>): void {
    const { next } = gets;
    if (gets.runningCount === 0 && next === undefined) this.#getsByKey.delete(key);
    if (next === undefined || gets.runningCount >= MAX_CONCURRENT_GETS) return;
    gets.next = undefined;
    gets.runningCount += 1;
    void next.run().then(() => {
      gets.runningCount -= 1;
      this.#startNext(key, gets);
    });
  }
}

class SharedGet<Result> {
  readonly result: Promise<Result>;
  callerCount = 0;
  readonly #send: SendGet<Result>;
  readonly #aborted = new AbortController();
  #resolve: (result: Promise<Result>) => void = () => {};

  constructor(send: SendGet<Result>) {
    this.#send = send;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Never rejects. */
  async run(): Promise<void> {
    this.#resolve(this.#send(this.#aborted.signal));
    await this.result.then(
      () => {},
      () => {},
    );
  }

  abort(): void {
    this.#aborted.abort();
  }
}
