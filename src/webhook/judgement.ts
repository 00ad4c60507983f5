import type { Review, ReviewHeader } from '../decision/review.ts';
import type { Verdict } from '../decision/verdict.ts';

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/**
 * Whether a config of the review's name and uid exists. Only the API server's reviews are always about one. The
 * guard knows it only if it may read the configs, and does not ask if that changes nothing.
 */
export type ConfigState = 'exists' | 'missing' | 'unknown';

export interface Judgement {
  readonly verdict: Verdict;
  readonly path: DecisionPath;
  readonly configState: ConfigState;
}

export interface ReviewJudge<R extends ReviewHeader = Review> {
  /** Never rejects. On abort, the judge decides with the data that it has read. */
  readonly judge: (review: R, signal: AbortSignal) => Promise<Judgement>;
}
