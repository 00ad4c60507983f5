import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';
import { createRandom } from '../support/random.ts';

/** Before the certificates of the tests are made. */
export const START = Date.UTC(2026, 10, 20, 12);
/** Turns of the event loop without a delivery, after which only a timer can cause something. */
const QUIET_TURNS = 4;

/**
 * The time of a test: all timers, the wall clock and the monotonic clock. It passes only in {@link pass} and
 * {@link within}, from one timer to the next. Between two timers, everything happens that needs no time.
 */
export class VirtualClock {
  /** Deliveries of the network that are due. */
  inFlight = 0;

  /** Replaces the timers until the end of the test. The seed decides each random number. */
  constructor(seed: number) {
    const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] as const;
    vi.useFakeTimers({ toFake: [...toFake], now: START });
    onTestFinished(() => void vi.useRealTimers());
    vi.spyOn(Math, 'random').mockImplementation(createRandom(seed));
  }

  /** Seconds since the start of the test. */
  get seconds(): number {
    return performance.now() / 1_000;
  }

  /** Delivers in the next turn of the event loop, as a network without latency. */
  deliver(work: () => void): void {
    this.inFlight += 1;
    setImmediate(() => {
      this.inFlight -= 1;
      work();
    });
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet = this.inFlight === 0 ? quiet + 1 : 0) await nextTurn();
  }

  async pass(ms: number): Promise<void> {
    await this.#run(ms, () => false);
  }

  /**
   * Lets time pass until the result is neither false nor undefined.
   * @throws Error if that takes longer
   */
  async within<Result>(ms: number, what: string, find: () => Result | false | undefined): Promise<Result> {
    let found: Result | false | undefined;
    await this.#run(ms, () => {
      found = find();
      return found !== undefined && found !== false;
    });
    if (found === undefined || found === false) throw new Error(`not within ${ms} ms: ${what}`);
    return found;
  }

  /** As {@link within}, for the result of a promise. */
  async await<Result>(ms: number, what: string, promise: Promise<Result>): Promise<Result> {
    let settled: { readonly result: Result } | { readonly error: unknown } | undefined;
    const settling = promise.then(
      (result) => void (settled = { result }),
      (error: unknown) => void (settled = { error }),
    );
    await this.within(ms, what, () => settled);
    await settling;
    return await promise;
  }

  /**
   * Tries again each second until nothing throws.
   * @throws the last error if that takes longer
   */
  async eventually(ms: number, attempt: () => Promise<void>): Promise<void> {
    const end = performance.now() + ms;
    for (;;) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (performance.now() >= end) throw error;
      }
      await this.pass(1_000);
    }
  }

  /** Sets the wall clock forward. No timer fires, as after the sleep of a virtual machine. */
  skip(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
  }

  async #run(ms: number, isDone: () => boolean): Promise<void> {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), ms);
    await this.settle();
    while (!end.signal.aborted && !isDone()) {
      vi.advanceTimersToNextTimer();
      await this.settle();
    }
    clearTimeout(timer);
  }
}
