import type { PoolRenders } from './compare-renders.ts';
import type { ManifestProblem } from './find-problems.ts';

/** The JSON of `check manifests DIR --output json`. Its keys are a contract. */
export interface ManifestsReport {
  readonly directory: string;
  readonly openshiftVersion: string | null;
  /** How many files with manifests there are. */
  readonly manifests: number;
  /** Whether the exit code is 0. */
  readonly ok: boolean;
  readonly problems: readonly ManifestProblem[];
  /** Null without `--operator`, or if it cannot render. */
  readonly renders: readonly PoolRenders[] | null;
  /** Whether the names of the renders are those of the cluster, because the directory has all that they depend on. */
  readonly hasRealNames: boolean;
}
