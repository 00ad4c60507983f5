import type { Launch } from '../../support/guard-process.ts';
import type { Answer } from './answer.ts';
import type { Questions } from './questions.ts';
import type { Stage } from './stage.ts';

/** What goes wrong, and what deletions are to get meanwhile. Its section of docs/failure-modes.md has its title as heading. */
export interface Fault {
  /** For `npm run chaos -- --only`. */
  readonly name: string;
  /** Row of the table, heading of the section. */
  readonly title: string;
  /** Last cell of the row: what somebody sees who looks for the cause. Markdown; links as from docs/. */
  readonly seen: string;
  /** How the guard has to be started for it. Files may be put into the directory, which is removed at the end. */
  readonly launch?: (directory: string) => Promise<Launch>;
  /** Ask a second API server on the same etcd, because the guard's own one cannot be asked. */
  readonly askAnother?: true;
  /** The process of the guard is not the same afterwards. */
  readonly endsGuard?: true;
  /** Answers that may come while it lasts, beside refusals for want of time. `moved` as `used`. */
  readonly answers: { readonly used: readonly Answer[]; readonly free: readonly Answer[] };
  /** An answer that has to come while it lasts, because otherwise nothing was the matter. Without one: the right ones, because the guard is to get through it. */
  readonly proof?: Answer;
  readonly lastsMs: number;
  /** What has to have happened before. */
  readonly prepare?: (stage: Stage, questions: Questions) => Promise<void>;
  /** Makes it happen. What it returns ends it, and throws where it can tell that nothing was the matter. */
  readonly begin: (stage: Stage, questions: Questions) => Ending | Promise<Ending>;
}

type Ending = () => Promise<void> | void;
