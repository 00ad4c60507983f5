import type { Review, Verdict } from '../decision/verdict.ts';

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/**
 * Whether a config of the review's name and uid exists. `missing` includes reviews about other objects.
 * `unknown` means that the guard could not find out, or did not need to.
 */
export type ConfigState = 'exists' | 'missing' | 'unknown';

/** A review with the verdict that answers it, and how the guard reached the verdict. */
export interface JudgedReview {
  readonly review: Review;
  readonly verdict: Verdict;
  readonly path: DecisionPath;
  readonly configState: ConfigState;
}

export interface ReviewJudge {
  /** Rejects only because of a bug. On abort, the judge decides with the data that it has read. */
  readonly judge: (review: Review, signal: AbortSignal) => Promise<JudgedReview>;
}
