import type { Review } from '../decision/review.ts';
import type { Verdict } from '../decision/verdict.ts';

/** Where a verdict's knowledge came from: nowhere, one fresh read of a suspect, or a fresh read of everything. */
export type DecisionPath = 'none' | 'index' | 'live';

/** A verdict and how it was reached. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly path: DecisionPath;
}

/** Decides about reviews. */
export interface ReviewJudge {
  /** Answers a review that has arrived. The signal says when the time for reading is over. Never rejects. */
  judge(review: Review, signal: AbortSignal): Promise<Judgement>;
}
