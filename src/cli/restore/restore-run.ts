import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { shell, type ShellCommand } from '../../diagnosis/shell-command.ts';
import { groupBy } from '../../common/group-by.ts';
import { orForbidden } from '../../client/cluster-access.ts';
import { readDifferences } from '../../client/config-differences.ts';
import { readWithRetries } from '../../client/poll.ts';
import type { InspectedPool, PendingCertificateRequest } from '../../diagnosis/cluster-snapshot.ts';
import { toUnpauseCommand } from '../../diagnosis/restore-pause.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { ConfigName } from '../../mco/machine-config.ts';
import {
  type RunReport,
  type StepOptions,
  type StepReport,
  StepRun,
  type Wait,
  WaitTimeout,
  WriteDenied,
} from '../steps/step-run.ts';
import {
  chooseContent,
  type PlanReport,
  planRestore,
  rejectWithoutCopy,
  type Rejection,
  type RestorePlan,
  type WantedRestore,
} from './restore-plan.ts';
import {
  findPool,
  listSteps,
  readRestoreState,
  type RestoreState,
  type RestoreStep,
  type StepAction,
} from './restore-steps.ts';

export interface RestoreOptions extends StepOptions, WantedRestore {
  /** Undefined reads it from the cluster's install-config. */
  readonly controlPlaneReplicas?: number | undefined;
  /** Missing configs that are wanted, and that `source` lacks. */
  readonly withoutCopy?: readonly ConfigName[];
  /** The arguments of `--from`, for messages. */
  readonly source?: string;
}

/** The JSON of `restore --output json`. Its keys are a contract. Unknown values are null. */
export interface RestoreReport extends RunReport {
  /** What a person does next. */
  readonly advice: readonly Advice[];
  readonly configs: readonly ConfigReport[];
  /** The pools that are paused for this restore, or may be. */
  readonly pausedPools: readonly { readonly name: string; readonly unpauseCommand: ShellCommand | null }[];
  readonly pendingCertificateRequests: readonly PendingCertificateRequest[];
}

export interface ConfigReport extends PlanReport {
  /** `planned`: without `--confirm`. `incomplete`: a second run continues. */
  readonly outcome: 'exists' | 'incomplete' | 'planned' | 'rejected' | 'restored';
  readonly steps: readonly StepReport[];
}

/**
 * A machine-config-daemon retries after at most 60 s and then waits 10 s until it is uncordoned. One that has just
 * started looks at its node only after 60 s (pkg/daemon/daemon.go).
 */
const NODE_RECOVERY_MS = 120_000;
/** A status that names a missing config, or a pool that rolls it out, would be a deadlock again. */
const ACTIONS_WITH_CONFIG: ReadonlySet<StepAction> = new Set(['SetPoolStatus', 'AwaitMachines', 'UnpausePool']);
/** `oc logs` cannot select the pods of a node. */
const LOG_ADVICE = advise(
  'run the same command again to wait longer, or read the logs of the machine-config-daemons',
  shell`oc logs -n openshift-machine-config-operator
    -l k8s-app=machine-config-daemon -c machine-config-daemon --tail=20`,
);

/**
 * Creates missing configs, and ends the deadlock of their pools. Each step reads the live state first, so a second
 * run continues where the first one stopped.
 * @returns the report, and why the run ended early
 * @throws ClusterAccessError, TimeoutError, before the first dry run
 */
export async function restore(api: KubeApi, options: RestoreOptions) {
  return await new RestoreRun(api, options).run();
}

class RestoreRun extends StepRun {
  declare protected readonly options: RestoreOptions;
  /** As it was read last. */
  #state!: RestoreState;

  async run() {
    const state = await readWithRetries((limited) => this.#readState(limited), this.signal);
    const plans: RestorePlan[] = [];
    const failure = await this.finish(async () => {
      for (const copies of groupBy(this.options.configs, ({ name }) => name).values()) {
        plans.push(planRestore(chooseContent(copies), state, this.options));
      }
      for (const [index, plan] of plans.entries()) {
        plans[index] = await this.#compare(await this.#sendDryRunsOf(plan), state);
      }
      if (!this.options.isConfirmed) return;
      await this.#takeSteps(plans);
      await this.#awaitNodes(plans);
    });
    const pausedPools = this.#listPausedPools(plans);
    for (const pool of pausedPools) {
      const advice = advise('to give up the restore, unpause it', toUnpauseCommand(pool));
      this.progress(`pool ${pool} stays paused for this restore`, advice);
    }
    const { withoutCopy = [], source = '' } = this.options;
    const lacking = withoutCopy.map((name): ConfigReport => {
      return { ...rejectWithoutCopy(name, source, state), outcome: 'rejected', steps: [] };
    });
    const configs = [...plans.map((plan) => this.#buildConfigReport(plan)), ...lacking];
    const isRejected = configs.some(({ outcome }) => outcome === 'rejected');
    const problems = failure instanceof CliError ? failure.advice : [];
    const next = plans.flatMap((plan, index) => {
      const isDone = ['exists', 'restored'].includes(configs[index]?.outcome ?? '');
      return isDone && plan.next !== undefined ? [plan.next] : [];
    });
    const report: RestoreReport = {
      ...this.buildReport(failure),
      ok: failure === undefined && !isRejected,
      advice: [...problems, ...next],
      configs,
      pausedPools: pausedPools.map((pool) => ({ name: pool, unpauseCommand: toUnpauseCommand(pool) ?? null })),
      pendingCertificateRequests: this.#state.pendingRequests,
    };
    return { report, failure };
  }

  async #readState(signal: AbortSignal): Promise<RestoreState> {
    this.#state = await readRestoreState(this.api, this.options.controlPlaneReplicas, signal);
    return this.#state;
  }

  /** The pools that are paused for this restore, or may be: the response to a write can be lost. */
  #listPausedPools(plans: readonly RestorePlan[]): readonly string[] {
    const isPaused = ({ paused, pausedFor }: InspectedPool) =>
      paused && this.options.configs.some(({ name }) => name === pausedFor);
    const paused = new Set(this.#state.pools.filter(isPaused).map(({ name }) => name));
    for (const { report, steps } of plans) {
      const pool = String(report.pool);
      const find = (action: StepAction) => steps.find((step) => step.action === action);
      const [pause, unpause] = [find('PausePool'), find('UnpausePool')];
      if (pause !== undefined && this.isWritten(pause)) paused.add(pool);
      if (unpause !== undefined && this.isFinished(unpause)) paused.delete(pool);
    }
    return [...paused];
  }

  /** @returns the plan, rejected if a webhook or a policy denies one of its writes */
  async #sendDryRunsOf(plan: RestorePlan): Promise<RestorePlan> {
    try {
      await this.sendDryRuns(plan.steps);
      return plan;
    } catch (error) {
      if (!(error instanceof WriteDenied)) throw error;
      const rejection: Rejection = { code: 'WriteDenied', reason: error.message, advice: WriteDenied.advice };
      return { ...plan, steps: [], report: { ...plan.report, rejection, warnings: [] } };
    }
  }

  /** A wait for one pool must not delay the steps of another. Configs of one pool share its pause. */
  async #takeSteps(plans: readonly RestorePlan[]): Promise<void> {
    for (const action of ['PausePool', 'CreateConfig', 'SetPoolStatus'] as const) {
      for (const plan of plans) await this.#takeStep(action, plan);
    }
    // Only the pool of the control plane waits for machines.
    const waiting = plans.filter(({ steps }) => steps.some(({ action }) => action === 'AwaitMachines'));
    for (const plan of [...plans.filter((candidate) => !waiting.includes(candidate)), ...waiting]) {
      for (const action of ['AwaitMachines', 'UnpausePool'] as const) await this.#takeStep(action, plan);
    }
  }

  /** @throws WaitTimeout if nodes stay Degraded, which delays no other step */
  async #awaitNodes(plans: readonly RestorePlan[]): Promise<void> {
    const untilMs = Math.min(this.elapsedMs + NODE_RECOVERY_MS, this.options.timeoutMs);
    const waits: Wait[] = [];
    for (const plan of plans) {
      try {
        await this.#takeStep('AwaitNodes', plan, untilMs);
      } catch (error) {
        if (!(error instanceof WaitTimeout)) throw error;
        waits.push(error.wait);
      }
    }
    const reason = waits.map((wait) => wait.reason).join('; ');
    const known = waits.find((wait) => wait.advice !== undefined)?.advice;
    const advice = known ?? (plans.every(({ next }) => next === undefined) ? LOG_ADVICE : undefined);
    if (waits.length > 0) throw new WaitTimeout({ reason, ...(advice && { advice }) });
  }

  /** Adds what differs from the config of its pool, unless the user may not get configs. */
  async #compare(plan: RestorePlan, state: RestoreState): Promise<RestorePlan> {
    const { config, exists, steps, report } = plan;
    const own = findPool(state, report.pool);
    const other = own?.specConfig;
    if (exists || steps.length === 0 || other === undefined || !state.configs.has(other)) return plan;
    const reading = readDifferences(this.api, config.spec, other, own?.sources ?? [], this.signal);
    const differences = await orForbidden(reading);
    return differences === undefined ? plan : { ...plan, report: { ...report, comparedWith: other, differences } };
  }

  async #takeStep(action: StepAction, plan: RestorePlan, untilMs?: number): Promise<void> {
    const isOfAction = (step: RestoreStep): boolean => step.action === action;
    const step = plan.steps.find(isOfAction);
    if (step === undefined) return;
    const { name } = plan.config;
    const look = async (signal: AbortSignal): Promise<RestoreStep | undefined> => {
      const state = await this.#readState(signal);
      if (ACTIONS_WITH_CONFIG.has(action) && !state.configs.has(name)) {
        throw new CliError(`somebody has deleted ${name} since it was created`, EXIT_CODE.failure);
      }
      return listSteps(state, plan.config, findPool(state, plan.report.pool)).find(isOfAction);
    };
    await this.take(step, look, untilMs);
  }

  #buildConfigReport({ exists, report, steps }: RestorePlan): ConfigReport {
    const findOutcome = (): ConfigReport['outcome'] => {
      if (report.rejection !== null) return 'rejected';
      if (exists && steps.length === 0) return 'exists';
      if (!this.options.isConfirmed) return 'planned';
      // Nothing waits for nodes that stay Degraded.
      const isComplete = steps.every((step) => step.action === 'AwaitNodes' || this.isFinished(step));
      return isComplete ? 'restored' : 'incomplete';
    };
    return { ...report, outcome: findOutcome(), steps: this.listReports(steps) };
  }
}
