import type { PendingCertificateRequest } from '../../client/certificate-requests.ts';
import type { Advice, ShellCommand } from '../../client/output/advice.ts';
import type { ConfigName } from '../../decision/config-name.ts';
import type { Rejection, RestorePlan, RestoreStep } from './restore-plan.ts';

/** `planned`: without `--confirm`. `incomplete`: a second run continues. */
export type Outcome = 'exists' | 'incomplete' | 'planned' | 'rejected' | 'restored';

/** The JSON of `restore --output json`. Its keys are a contract. Unknown values are null. */
export interface RestoreReport {
  readonly server: string;
  readonly confirmed: boolean;
  readonly ok: boolean;
  /** Why the restore stopped, or which nodes stay Degraded. */
  readonly problem: string | null;
  /** What a person can do about the problem. */
  readonly advice: readonly Advice[];
  readonly configs: readonly ConfigReport[];
  /** The pools that stay paused. */
  readonly pausedPools: readonly { readonly name: string; readonly unpauseCommand: ShellCommand }[];
  readonly pendingCertificateRequests: readonly PendingCertificateRequest[];
}

export interface ConfigReport {
  readonly name: ConfigName;
  readonly source: string;
  readonly pool: string | null;
  readonly outcome: Outcome;
  /** Nodes and pools, as a phrase. */
  readonly namedBy: string | null;
  readonly rejection: Rejection | null;
  readonly warnings: readonly string[];
  readonly steps: readonly (Pick<RestoreStep, 'action' | 'description'> & { readonly done: boolean })[];
}

export function buildConfigReport(
  plan: RestorePlan,
  isConfirmed: boolean,
  isStepDone: (step: RestoreStep) => boolean,
): ConfigReport {
  const { config, pool, referrers, rejection, warnings } = plan;
  const steps = plan.steps.map((step) => {
    return { action: step.action, description: step.description, done: isStepDone(step) };
  });
  // Nothing waits for nodes that stay Degraded.
  const isDone = steps.every(({ action, done }) => done || action === 'AwaitNodes');
  return {
    name: config.name,
    source: config.source,
    pool: pool ?? null,
    outcome: toOutcome(plan, isConfirmed, isDone),
    namedBy: referrers === '' ? null : referrers,
    rejection: rejection ?? null,
    warnings,
    steps,
  };
}

function toOutcome({ exists, rejection, steps }: RestorePlan, isConfirmed: boolean, isDone: boolean): Outcome {
  if (rejection !== undefined) return 'rejected';
  if (exists && steps.length === 0) return 'exists';
  if (!isConfirmed) return 'planned';
  return isDone ? 'restored' : 'incomplete';
}
