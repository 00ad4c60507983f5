import { setImmediate, setTimeout } from 'node:timers/promises';

/**
 * Simulated time. It advances only while every actor waits, so a story is the same at any speed. The story
 * ends when no actor waits for a time.
 */
export class StoryClock {
  readonly #speed: number;
  #now = 0;
  readonly #timers: { readonly time: number; readonly resume: () => void }[] = [];
  readonly #waiters: { readonly condition: () => boolean; readonly resume: () => void }[] = [];
  #realWorkCount = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param speed simulated seconds in a real second */
  constructor(speed: number) {
    this.#speed = speed;
  }

  get now(): number {
    return this.#now;
  }

  /** Starts an actor. Its error ends the story. */
  start(actor: () => Promise<void>): void {
    actor().catch((error: unknown) => {
      this.#failure ??= { error };
    });
  }

  async sleep(seconds: number): Promise<void> {
    await this.sleepUntil(this.#now + seconds);
  }

  async sleepUntil(time: number): Promise<void> {
    if (time <= this.#now) return;
    await new Promise<void>((resume) => {
      this.#timers.push({ time, resume });
    });
  }

  /** Waiting actors resume one at a time, in the order of their calls. */
  async waitFor(condition: () => boolean): Promise<void> {
    await new Promise<void>((resume) => {
      this.#waiters.push({ condition, resume });
    });
  }

  /** The simulated time stops until the work is done. */
  async pauseDuring<Result>(work: Promise<Result>): Promise<Result> {
    this.#realWorkCount += 1;
    try {
      return await work;
    } finally {
      this.#realWorkCount -= 1;
    }
  }

  /** @throws the error of an actor */
  async run(): Promise<void> {
    for (;;) {
      // All microtasks, and so all actors, run before an immediate.
      do await setImmediate();
      while (this.#realWorkCount > 0 && this.#failure === undefined);
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#resumeWaiter()) continue;
      const next = this.#timers.sort((a, b) => a.time - b.time).shift();
      if (next === undefined) return;
      await setTimeout(((next.time - this.#now) / this.#speed) * 1_000);
      this.#now = next.time;
      next.resume();
    }
  }

  /** Resumes only one, because it can make the condition of another false. */
  #resumeWaiter(): boolean {
    const index = this.#waiters.findIndex(({ condition }) => condition());
    const [waiter] = index === -1 ? [] : this.#waiters.splice(index, 1);
    waiter?.resume();
    return waiter !== undefined;
  }
}
