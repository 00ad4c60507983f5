import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** The pause between two samples. A shorter one would cost more than the rest of an idle guard. */
const RESOLUTION_MS = 10;
/** Longer than the 30 s between scrapes. */
const WINDOW_MS = 60_000;

/** Measures how long single pieces of work hold the event loop, during which no review is answered. */
export class EventLoopDelay {
  /** Of the times between two samples, in nanoseconds. */
  readonly #intervals: Pick<IntervalHistogram, 'enable' | 'max' | 'reset'>;
  #lastWindowSeconds = 0;

  constructor(intervals = monitorEventLoopDelay({ resolution: RESOLUTION_MS })) {
    this.#intervals = intervals;
    this.#intervals.enable();
    setInterval(() => {
      this.#lastWindowSeconds = this.#windowSeconds;
      this.#intervals.reset();
    }, WINDOW_MS).unref();
  }

  /** The longest delay in this window and in the last one, precise to 10 ms. Every reader gets the same value. */
  get longestSeconds(): number {
    return Math.max(this.#lastWindowSeconds, this.#windowSeconds);
  }

  get #windowSeconds(): number {
    return Math.max(0, this.#intervals.max / 1e6 - RESOLUTION_MS) / 1_000;
  }
}
