import type { Review } from '../decision/review.ts';
import type { Verdict } from '../decision/verdict.ts';

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

export interface Judgement {
  readonly verdict: Verdict;
  readonly path: DecisionPath;
}

export interface ReviewJudge {
  /** Never rejects. On abort, the judge decides with the data that it has read. */
  readonly judge: (review: Review, signal: AbortSignal) => Promise<Judgement>;
}
