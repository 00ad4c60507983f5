import type { GuardedCluster, LaunchPreparation } from '../support/guarded-cluster.ts';
import type { Answer } from '../support/answer.ts';
import type { Prober } from '../support/prober.ts';

/** Something that fails, and the answers that deletions may get meanwhile. */
export interface Fault {
  /** For `npm run chaos -- --only`. */
  readonly name: string;
  /** For the table in docs/failure-modes.md. */
  readonly title: string;
  /** What an administrator sees, for the table in docs/failure-modes.md. Markdown. */
  readonly seen: string;
  /** Whether `npm run test:e2e` injects it without `--long`. */
  readonly isInShortRun?: true;
  /** The fault needs a guard that was started differently. */
  readonly launch?: LaunchPreparation;
  /** Deletions go to a second API server on the same etcd, because the guard's API server fails. */
  readonly needsSecondApiServer?: true;
  /** The guard is another process afterwards. */
  readonly endsGuard?: true;
  /** The guard cannot verify anything. */
  readonly preventsRightAnswers?: true;
  /** An answer that must occur, or else the fault had no effect. Without it, the right answers must occur. */
  readonly requiredAnswer?: Answer;
  readonly durationMs: number;
  readonly prepare?: (cluster: GuardedCluster, prober: Prober) => Promise<void>;
  /** Starts the fault. The returned function ends it, and throws if it can tell that the fault had no effect. */
  readonly inject: (cluster: GuardedCluster, prober: Prober) => Recovery | Promise<Recovery>;
}

type Recovery = () => Promise<void> | void;
