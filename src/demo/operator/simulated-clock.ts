import { setImmediate, setTimeout } from 'node:timers/promises';

interface Timer {
  readonly time: number;
  readonly resume: () => void;
}

/** Simulated time. It advances only while every actor waits, so a story is the same at any speed. */
export class SimulatedClock {
  readonly #speed: number;
  #now = 0;
  readonly #timers: Timer[] = [];
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

  /** Starts an actor. Its error ends the simulation. */
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

  /** Sleeps in simulated time within the work of {@link pauseDuring}. */
  async sleepDuringWork(seconds: number): Promise<void> {
    this.#realWorkCount -= 1;
    await this.sleep(seconds);
    this.#realWorkCount += 1;
  }

  /**
   * Runs until no actor waits for a time. The actors keep their state, and a later run continues.
   *
   * @throws the error of an actor
   */
  async runUntilIdle(): Promise<void> {
    for (;;) {
      await this.#resumeActors();
      const time = this.#findNextTime();
      if (time === undefined) return;
      await this.#advanceTo(time);
    }
  }

  /** Returns when all actors wait for a time or for a condition that is false. */
  async #resumeActors(): Promise<void> {
    do {
      // All microtasks, and so all actors, run before an immediate.
      do await setImmediate();
      while (this.#realWorkCount > 0 && this.#failure === undefined);
      if (this.#failure !== undefined) throw this.#failure.error;
    } while (this.#resumeTimer() || this.#resumeWaiter());
  }

  #findNextTime(): number | undefined {
    return this.#timers.toSorted((a, b) => a.time - b.time)[0]?.time;
  }

  async #advanceTo(time: number): Promise<void> {
    await setTimeout(((time - this.#now) / this.#speed) * 1_000);
    this.#now = time;
  }

  #resumeTimer(): boolean {
    const index = this.#timers.findIndex(({ time }) => time <= this.#now);
    const [timer] = index === -1 ? [] : this.#timers.splice(index, 1);
    timer?.resume();
    return timer !== undefined;
  }

  /** Resumes only one, because it can make the condition of another false. */
  #resumeWaiter(): boolean {
    const index = this.#waiters.findIndex(({ condition }) => condition());
    const [waiter] = index === -1 ? [] : this.#waiters.splice(index, 1);
    waiter?.resume();
    return waiter !== undefined;
  }
}
