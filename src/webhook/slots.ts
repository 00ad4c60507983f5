import { orAborted } from '../cluster/wait.ts';

/** A fixed number of places. Who finds none waits in line, for as long as its signal allows. */
export class Slots {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Takes a place.
   *
   * @returns gives the place back; may be called more than once
   * @throws the signal's reason when it aborts first
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return this.#giveBackOnce();
    }
    let called: (() => void) | undefined;
    const turn = new Promise<void>((resolve) => {
      called = resolve;
      this.#line.push(resolve);
    });
    try {
      await orAborted(turn, signal);
    } catch (error) {
      const place = this.#line.findIndex((waiting) => waiting === called);
      // Called and aborted in the same turn: the place was given to us, so it goes on to the next.
      if (place === -1) this.#giveBack();
      else this.#line.splice(place, 1);
      throw error;
    }
    return this.#giveBackOnce();
  }

  #giveBackOnce(): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#giveBack();
    };
  }

  #giveBack(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
