import type { Review } from '../decision/review.ts';
import type { Verdict } from '../decision/verdict.ts';

/** What a verdict rests on: nothing of the cluster, a referrer from the index that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/** A verdict and what it rests on. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly path: DecisionPath;
}

/** Decides about reviews. */
export interface ReviewJudge {
  /** Never rejects. When the signal aborts, the judge decides with what it has read. */
  readonly judge: (review: Review, signal: AbortSignal) => Promise<Judgement>;
}
