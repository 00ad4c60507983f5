import { setTimeout } from 'node:timers/promises';

type Condition = () => boolean;

/** An actor yields the simulated seconds that it sleeps, or a condition that it waits for. */
export type Actor = AsyncGenerator<number | Condition, void>;

/**
 * Simulated time. One actor acts at a time, and the time advances only while all of them wait. So a story is the same
 * at any speed.
 */
export class SimulatedClock {
  readonly #speed: number;
  /** The actors, and the time or the condition that each waits for. */
  readonly #waiting: { readonly actor: Actor; readonly until: number | Condition }[] = [];
  #now = 0;

  /** @param speed simulated seconds in a real second */
  constructor(speed: number) {
    this.#speed = speed;
  }

  get now(): number {
    return this.#now;
  }

  /** The actor acts for the first time in a run. */
  start(actor: Actor): void {
    this.#waiting.push({ actor, until: this.#now });
  }

  /**
   * Runs until no actor waits for a time, or for so many seconds. The actors keep their state for a later run.
   *
   * @throws the error of an actor
   */
  async run(seconds = Number.POSITIVE_INFINITY): Promise<void> {
    const end = this.#now + seconds;
    for (;;) {
      const times = this.#waiting.map(({ until }) => this.#findTime(until));
      const time = Math.min(...times, end);
      if (time === Number.POSITIVE_INFINITY) return;
      await this.advanceTo(time);
      const next = this.#waiting[times.indexOf(time)];
      if (next === undefined) return;
      this.#waiting.splice(times.indexOf(time), 1);
      const { value, done } = await next.actor.next();
      if (done === true) continue;
      this.#waiting.push({ ...next, until: typeof value === 'number' ? this.#now + value : value });
    }
  }

  /** An actor that calls this keeps the others from acting until then, as an outage does. */
  async advanceTo(time: number): Promise<void> {
    if (time <= this.#now) return;
    await setTimeout(((time - this.#now) / this.#speed) * 1_000);
    this.#now = time;
  }

  #findTime(until: number | Condition): number {
    if (typeof until === 'number') return until;
    return until() ? this.#now : Number.POSITIVE_INFINITY;
  }
}
