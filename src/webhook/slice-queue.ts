import type { Trust } from './connection-limiter.ts';

/** How long one turn of the event loop runs slices. Other events wait meanwhile. */
const TURN_MS = 2;
const MOST_URGENT_FIRST: readonly Trust[] = ['trusted', 'unknown', 'untrusted'];

/** Runs a slice of work. Returns whether the work is finished. */
type Job = () => boolean;

/**
 * Runs work in slices, so that it does not hold the event loop, and the work of trusted connections before that
 * of others. Work of the same trust takes turns.
 */
export class SliceQueue {
  readonly #jobs: Readonly<Record<Trust, Job[]>> = { trusted: [], unknown: [], untrusted: [] };
  #isTurnScheduled = false;

  /**
   * @param work yields after each slice
   * @returns the result of the work. Rejects with its error, or with the signal's reason on abort
   */
  async run<Result>(work: Generator<undefined, Result>, trust: Trust, signal: AbortSignal): Promise<Result> {
    return await new Promise<Result>((resolve, reject) => {
      this.#jobs[trust].push(() => {
        try {
          signal.throwIfAborted();
          const { done, value } = work.next();
          if (done === true) resolve(value);
          return done === true;
        } catch (error) {
          reject(error);
          return true;
        }
      });
      if (!this.#isTurnScheduled) this.#runTurn();
    });
  }

  readonly #runTurn = (): void => {
    const startedAt = performance.now();
    // A turn follows even if no job is left, because more jobs can come before it.
    this.#isTurnScheduled = this.#runSlice();
    while (this.#runSlice()) {
      if (performance.now() - startedAt > TURN_MS) break;
    }
    if (this.#isTurnScheduled) setImmediate(this.#runTurn);
  };

  /** Returns false if there is no job. */
  #runSlice(): boolean {
    const trust = MOST_URGENT_FIRST.find((candidate) => this.#jobs[candidate].length > 0);
    const jobs = trust === undefined ? undefined : this.#jobs[trust];
    const job = jobs?.shift();
    if (job === undefined) return false;
    if (!job()) jobs?.push(job);
    return true;
  }
}
