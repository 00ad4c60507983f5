import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The pause between two samples. A shorter one would cost more than the rest of an idle guard. */
const RESOLUTION_MS = 10;

/** Measures how long single pieces of work hold the event loop, during which no review is answered. */
export class EventLoopDelay {
  /** Of the times between two samples, in nanoseconds. */
  readonly #intervals = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#intervals.enable();
  }

  /** The longest delay in seconds since the last call, precise to 10 ms. */
  takeLongest(): number {
    const ms = Math.max(0, this.#intervals.max / 1e6 - RESOLUTION_MS);
    this.#intervals.reset();
    return ms / 1_000;
  }
}
