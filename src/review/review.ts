import type { HoldableConfig } from '../mco/machine-config.ts';
import type { Verdict } from './verdict.ts';

export interface Review {
  readonly uid: string;
  readonly isDryRun: boolean;
  readonly user: string;
  /** Undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ConfigToDelete | undefined;
}

export interface ConfigToDelete extends HoldableConfig {
  readonly uid: string;
  /** The reason in its allow-deletion annotation. Empty if the annotation has none. */
  readonly allowDeletion?: string;
}

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/**
 * Whether a config of the review's name and uid exists. `missing` includes reviews about other objects.
 * `unknown` means that the guard could not find out, or did not need to.
 */
export type ConfigState = 'exists' | 'missing' | 'unknown';

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

export interface AnsweredCall {
  readonly ms: number;
  readonly address: string;
  readonly hasAuthorization: boolean;
}
