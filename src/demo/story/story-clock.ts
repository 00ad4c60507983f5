import { setImmediate, setTimeout } from 'node:timers/promises';

interface Timer {
  readonly at: number;
  readonly ring: () => void;
}

interface Waiter {
  readonly holds: () => boolean;
  readonly go: () => void;
}

/**
 * Simulated time for actors that are plain async functions. It moves on only when every actor waits, so that a story comes
 * out the same at any speed; and it knows when nobody waits for a moment any more, which is what a dead-lock is.
 */
export class StoryClock {
  readonly #speed: number;
  #now = 0;
  #timers: Timer[] = [];
  #waiters: Waiter[] = [];
  #outside = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param speed how many simulated seconds pass in a real one */
  constructor(speed: number) {
    this.#speed = speed;
  }

  /** Simulated seconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** Lets an actor act. What it throws ends the story. */
  start(actor: () => Promise<void>): void {
    actor().catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  /** Waits for so many simulated seconds. */
  async sleep(seconds: number): Promise<void> {
    await this.at(this.#now + seconds);
  }

  /** Waits for a moment; at once if it has passed. */
  async at(moment: number): Promise<void> {
    if (moment <= this.#now) return;
    await new Promise<void>((ring) => {
      this.#timers.push({ at: moment, ring });
    });
  }

  /**
   * Waits until a condition holds. It must not have effects. Even where it holds already others may go first: everybody who
   * waits for a condition goes by the same queue.
   */
  async until(holds: () => boolean): Promise<void> {
    await new Promise<void>((go) => {
      this.#waiters.push({ holds, go });
    });
  }

  /** Holds the time while something real, such as a request, is under way. */
  async outside<T>(work: Promise<T>): Promise<T> {
    this.#outside += 1;
    try {
      return await work;
    } finally {
      this.#outside -= 1;
    }
  }

  /**
   * Runs the story until nobody waits for a moment any more: everything is done, or everybody waits for somebody else.
   * Rejects with an actor's error, or with the signal's reason.
   */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#settled();
      signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#wakeOne()) continue;
      const next = this.#takeNext();
      if (next === undefined) return;
      await setTimeout(((next.at - this.#now) / this.#speed) * 1000, undefined, { signal });
      this.#now = next.at;
      next.ring();
    }
  }

  /** One at a time: what the first does may be the end of what the second waits for. */
  #wakeOne(): boolean {
    const index = this.#waiters.findIndex(({ holds }) => holds());
    const [waiter] = index === -1 ? [] : this.#waiters.splice(index, 1);
    waiter?.go();
    return waiter !== undefined;
  }

  #takeNext(): Timer | undefined {
    const at = Math.min(...this.#timers.map((timer) => timer.at));
    const index = this.#timers.findIndex((timer) => timer.at === at);
    return index === -1 ? undefined : this.#timers.splice(index, 1)[0];
  }

  /** Actors go on in microtasks, all of which run before an immediate; requests take as long as they take. */
  async #settled(): Promise<void> {
    do {
      await setImmediate();
    } while (this.#outside > 0 && this.#failure === undefined);
  }
}
