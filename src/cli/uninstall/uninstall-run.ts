import { isNotServed } from '../../client/cluster-access.ts';
import { CliError } from '../../client/exit.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { readWithRetries } from '../../client/poll.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type DryRunAnswer, dryRunDeletion, findCandidates } from '../protection/dry-run-deletion.ts';
import { type RunReport, type Step, type StepOptions, type StepReport, StepRun } from '../steps/step-run.ts';
import {
  createDeletionStep,
  createReasonSteps,
  findInstalledObjects,
  type InstalledObject,
} from './installed-objects.ts';

export type UninstallOptions = Omit<StepOptions, 'timeoutMs'>;

/** The JSON of `uninstall --output json`. Its keys are a contract. */
export interface UninstallReport extends RunReport {
  readonly objects: readonly InstalledObject[];
  readonly remaining: readonly InstalledObject[];
  readonly steps: readonly StepReport[];
  /** Null if nothing was deleted, or the cluster has no config that a dry run can delete. */
  readonly dryRun: { readonly config: string; readonly answer: DryRunAnswer } | null;
  readonly advice: Advice | null;
}

/** The pods have a grace period of 30 s. */
const TIMEOUT_MS = 120_000;
/** Every API server applies a deleted webhook configuration within seconds. */
const DRY_RUN_TIMEOUT_MS = 30_000;

const DRY_RUN_STEP: Step = {
  action: 'DryRunDeletion',
  description: 'check that nothing denies the deletion of a rendered MachineConfig',
};

/**
 * Deletes what is installed, what denies deletions first, and sends a dry run that nothing must deny. A
 * second run continues where the first one stopped.
 * @returns the report, and why the run ended early
 * @throws ClusterAccessError, TimeoutError, if the objects cannot be listed
 */
export async function uninstall(api: KubeApi, options: UninstallOptions) {
  const { isConfirmed } = options;
  const run = new StepRun(api, { ...options, timeoutMs: TIMEOUT_MS });
  const objects = await readWithRetries((signal) => findInstalledObjects(api, signal), run.signal);
  const deletions = objects.map(createDeletionStep);
  const writes = [...createReasonSteps(objects), ...deletions];
  const steps = [...writes.map(({ step }) => step), DRY_RUN_STEP];
  let dryRun: UninstallReport['dryRun'] = null;

  const lookAtDryRun = async (signal: AbortSignal): Promise<Step | undefined> => {
    dryRun = await sendDryRun(api, signal);
    if (dryRun === null || dryRun.answer.status < 400) return undefined;
    const { config, answer } = dryRun;
    const denial = `${answer.status} ${toPrintableLine(answer.message)}`;
    const list = shell`oc get validatingwebhookconfigurations,validatingadmissionpolicybindings`;
    const advice = advise('list what can deny', list);
    return { ...DRY_RUN_STEP, wait: { reason: `until nothing denies the deletion of ${config}: ${denial}`, advice } };
  };

  const failure = await run.finish(async () => {
    if (!isConfirmed) return;
    await run.sendDryRuns(steps);
    // Finds a missing right to it. The guard still denies the deletion.
    await readWithRetries(lookAtDryRun, run.signal);
    dryRun = null;
    for (const { step, look } of writes) await run.take(step, (signal) => look(api, signal));
    await run.take(DRY_RUN_STEP, lookAtDryRun, run.elapsedMs + DRY_RUN_TIMEOUT_MS);
  });
  const confirm = shell`machineconfig-guard uninstall --confirm`;
  const next = advise(isConfirmed ? 'continue' : 'delete these objects', confirm);
  const isComplete = isConfirmed ? failure === undefined : objects.length === 0;
  const [advice = next] = failure instanceof CliError ? failure.advice : [];
  const report: UninstallReport = {
    ...run.buildReport(failure),
    objects,
    remaining: isConfirmed ? deletions.filter(({ step }) => !run.isFinished(step)).map(({ object }) => object) : [],
    steps: isConfirmed || objects.length > 0 ? run.listReports(steps) : [],
    dryRun,
    advice: isComplete ? null : advice,
  };
  return { report, failure };
}

/** @returns null if the cluster has no config */
async function sendDryRun(api: KubeApi, signal: AbortSignal): Promise<UninstallReport['dryRun']> {
  const { used, unused } = await findCandidates(api, signal).catch((error: unknown) => {
    if (isNotServed(error)) return { used: undefined, unused: undefined };
    throw error;
  });
  const candidate = used ?? unused;
  if (candidate === undefined) return null;
  const answer = await dryRunDeletion(api, candidate, signal);
  return answer ? { config: candidate.config, answer } : await sendDryRun(api, signal);
}
