import type { ConfigName } from '../../decision/config-name.ts';
import { ClusterAccessError, isRetryableRead } from '../../client/cluster-access.ts';
import { pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { type Advice, advise, ShellCommand } from '../../client/output/advice.ts';
import { toUnpauseCommand } from '../../client/paused-for-restore.ts';
import type { KubeApi } from '../../kube/api.ts';
import { describeError } from '../../kube/errors.ts';
import { withTimeout } from '../../common/wait.ts';
import { hasMatchingName } from '../../rendered-config/config-hash.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { chooseContent, type Content, NO_EVIDENCE, readContentEvidence } from './choose-content.ts';
import { readControlPlaneReplicas } from './control-plane-replicas.ts';
import { findOtherRestore, planRestore, type RestorePlan, type StepAction } from './restore-plan.ts';
import { buildConfigReport, type RestoreReport } from './restore-report.ts';
import {
  findPool,
  needsPause,
  needsStatus,
  readRestoreState,
  type RestorePool,
  type RestoreState,
} from './restore-state.ts';
import { RestoreWrites } from './restore-writes.ts';
import { isConflict, tryWrites } from './try-writes.ts';
import { findFailedNodesWait, findMissingMachinesWait, type Wait } from './waits.ts';

export interface RestoreOptions {
  /** All copies of the candidates. */
  readonly configs: readonly RenderedConfig[];
  /** Candidates with another name are rejected. */
  readonly name?: ConfigName | undefined;
  /** Without it, every write is a dry run. */
  readonly isConfirmed: boolean;
  /** Whether the content may differ from the hash in the name. */
  readonly acceptContent: boolean;
  /** For all steps together. */
  readonly timeoutMs: number;
  /** Undefined reads it from the cluster's install-config. */
  readonly controlPlaneReplicas?: number | undefined;
  /** Between two reads of a wait. */
  readonly intervalMs?: number;
  /** Replaces the timer between two reads, for a simulated clock. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Called for each step and each change during a wait. */
  readonly onProgress?: (text: string, elapsedMs: number, advice?: Advice) => void;
  /** Ends the restore after the current request. */
  readonly signal?: AbortSignal;
}

/** They wait for nothing, so all pools take them before the first wait. */
const FIRST_STEPS: readonly StepAction[] = ['PausePool', 'CreateConfig', 'SetPoolStatus'];
const LAST_STEPS: readonly StepAction[] = ['AwaitMachines', 'UnpausePool', 'AwaitNodes'];
/** Twice the longest pause between two tries of the machine-config-daemon (pkg/daemon/daemon.go). */
const NODE_RECOVERY_MS = 120_000;

/**
 * Creates missing configs, and ends the deadlock of their pools. Each step reads the live state first, so a second
 * run continues where the first one stopped. It returns early at the timeout and after an abort.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function restore(api: KubeApi, options: RestoreOptions): Promise<RestoreReport> {
  return await new RestoreRun(api, options).run();
}

/** Another restore has paused a pool between the plan and the pause. */
class OtherRestoreError extends Error {
  override readonly name = 'OtherRestoreError';
}

/** A wait that did not end in time. */
class UnfinishedWait extends Error {
  override readonly name = 'UnfinishedWait';
  readonly advice: readonly Advice[];

  constructor(waits: readonly { readonly reason: string; readonly advice: readonly Advice[] }[]) {
    super(waits.map(({ reason }) => reason).join('; '));
    this.advice = waits.flatMap(({ advice }) => advice);
  }
}

class RestoreRun {
  readonly #api: KubeApi;
  readonly #options: RestoreOptions;
  readonly #signal: AbortSignal;
  readonly #restoredNames: ReadonlySet<ConfigName>;
  readonly #startedAt = performance.now();
  readonly #doneSteps = new Set<string>();
  /** The pools that this restore has paused, or may have: the response to the write can be lost. */
  readonly #pausedPools = new Set<string>();
  /** A step of another pool can have read the state before. */
  readonly #unpausedPools = new Set<string>();
  /** Waits for nodes that did not recover in time. They delay no other step. */
  readonly #nodeWaits = new Map<ConfigName, Wait>();
  #controlPlaneReplicas: number | undefined;
  readonly #lastProgress = new Map<string, string>();

  constructor(api: KubeApi, options: RestoreOptions) {
    this.#api = api;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#restoredNames = new Set(options.configs.map(({ name }) => name));
  }

  async run(): Promise<RestoreReport> {
    const { isConfirmed } = this.#options;
    this.#controlPlaneReplicas =
      this.#options.controlPlaneReplicas ?? (await readControlPlaneReplicas(this.#api, this.#signal));
    const state = await readWithRetries((signal) => this.#readState(signal), this.#signal);
    const { name, acceptContent } = this.#options;
    const planOptions = { name, acceptContent, restoredNames: this.#restoredNames };
    const plans: RestorePlan[] = [];
    let stop: { problem: string; advice: readonly Advice[] } | undefined;
    try {
      for (const content of await this.#chooseContents(state)) {
        const plan = planRestore(content, state, planOptions);
        plans.push(await tryWrites(this.#api, plan, state, this.#signal));
      }
      if (isConfirmed) await this.#executeSteps(plans);
      const waits = plans.flatMap(({ config }) => this.#nodeWaits.get(config.name) ?? []);
      if (waits.length > 0) {
        const problem = `still waiting ${waits.map(({ reason }) => reason).join('; ')}`;
        stop = { problem, advice: waits.flatMap(({ advice }) => advice ?? []) };
      }
    } catch (error) {
      stop = this.#describeStop(error);
      if (stop === undefined) throw error;
    } finally {
      for (const pool of this.#pausedPools) this.#reportPausedPool(pool);
    }
    const configs = plans.map((plan) =>
      buildConfigReport(plan, isConfirmed, ({ action }) => this.#doneSteps.has(toStepKey(plan, action))),
    );
    return {
      server: this.#api.address,
      confirmed: isConfirmed,
      ok: stop === undefined && configs.every(({ outcome }) => outcome !== 'rejected'),
      problem: stop?.problem ?? null,
      advice: stop?.advice ?? [],
      configs,
      pausedPools: [...this.#pausedPools].map((pool) => {
        return { name: pool, unpauseCommand: new ShellCommand(toUnpauseCommand(pool)) };
      }),
      pendingCertificateRequests: state.pendingRequests,
    };
  }

  /** Reads the contents in the cluster only if a missing config has no copy that matches its name. */
  async #chooseContents({ configs: existing }: RestoreState): Promise<Content[]> {
    const { configs } = this.#options;
    const names = [...this.#restoredNames];
    const isDoubtful = configs.some((config) => !existing.has(config.name) && !hasMatchingName(config));
    const evidence = isDoubtful
      ? await readWithRetries((signal) => readContentEvidence(this.#api, signal), this.#signal)
      : NO_EVIDENCE;
    const contents: Content[] = [];
    for (const name of names) {
      const copies = configs.filter((config) => config.name === name);
      contents.push(await chooseContent(copies, evidence, this.#signal));
    }
    return contents;
  }

  async #readState(signal: AbortSignal): Promise<RestoreState> {
    const state = await readRestoreState(this.#api, this.#controlPlaneReplicas, signal);
    const names: ReadonlySet<string> = this.#restoredNames;
    for (const { referrer, paused, pausedFor = '' } of state.pools) {
      const isPaused = paused && names.has(pausedFor) && !this.#unpausedPools.has(referrer.name);
      if (isPaused) this.#pausedPools.add(referrer.name);
      else this.#pausedPools.delete(referrer.name);
    }
    return state;
  }

  /** A wait for one pool must not delay the steps of another. Configs of one pool share its pause. */
  async #executeSteps(plans: readonly RestorePlan[]): Promise<void> {
    await this.#executeInOrder(FIRST_STEPS, plans);
    const plansByPool = new Map<string, RestorePlan[]>();
    for (const plan of plans) {
      const key = plan.pool ?? plan.config.name;
      plansByPool.set(key, [...(plansByPool.get(key) ?? []), plan]);
    }
    const results = await Promise.allSettled(
      [...plansByPool.values()].map(async (group) => await this.#executeInOrder(LAST_STEPS, group)),
    );
    const errors: unknown[] = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    const waits = errors.filter((error) => error instanceof UnfinishedWait);
    if (errors.length > waits.length) throw errors.find((error) => !(error instanceof UnfinishedWait));
    if (waits.length > 0) {
      throw new UnfinishedWait(waits.map(({ message, advice }) => ({ reason: message, advice })));
    }
  }

  async #executeInOrder(actions: readonly StepAction[], plans: readonly RestorePlan[]): Promise<void> {
    for (const action of actions) {
      for (const plan of plans) {
        const step = plan.steps.find((candidate) => candidate.action === action);
        if (step === undefined || !(await this.#executeStep(action, plan))) continue;
        this.#doneSteps.add(toStepKey(plan, action));
        this.#report(step.result);
      }
    }
  }

  /**
   * Repeats the step until it needs nothing more.
   *
   * @returns false if nodes are still Degraded, which nothing waits for
   */
  async #executeStep(action: StepAction, plan: RestorePlan): Promise<boolean> {
    const leftMs = this.#options.timeoutMs - this.#getElapsedMs();
    const timeoutMs = Math.max(0, action === 'AwaitNodes' ? Math.min(leftMs, NODE_RECOVERY_MS) : leftMs);
    const key = toStepKey(plan, action);
    const { answer: wait } = await pollUntilSettled({
      read: (timeoutMs) =>
        withTimeout(timeoutMs, this.#signal, async (signal) => {
          const state = await this.#readState(signal);
          return await this.#takeStep(action, plan, state, signal);
        }),
      isSettled: (answer) => answer === undefined,
      timeoutMs,
      retryUntilMs: (error) => (!this.#signal.aborted && isRetryableStep(error) ? Number.POSITIVE_INFINITY : 0),
      onAnswer: (answer) => {
        if (answer !== undefined) this.#report(`waiting ${answer.reason}`, key, answer.advice);
      },
      onFailure: (error) => {
        const failure =
          error instanceof ClusterAccessError
            ? `${error.message}: ${describeError(error.cause)}`
            : describeError(error);
        this.#report(`${failure}; retrying`, key);
      },
      signal: this.#signal,
      ...(this.#options.intervalMs === undefined ? {} : { intervalMs: this.#options.intervalMs }),
      ...(this.#options.sleep === undefined ? {} : { sleep: this.#options.sleep }),
    });
    if (wait === undefined) return true;
    const { reason, advice } = wait;
    if (action !== 'AwaitNodes') throw new UnfinishedWait([{ reason, advice: advice === undefined ? [] : [advice] }]);
    this.#nodeWaits.set(plan.config.name, wait);
    return false;
  }

  /** @returns what the step waits for, or undefined if it is done */
  async #takeStep(
    action: StepAction,
    { config, pool: poolName }: RestorePlan,
    state: RestoreState,
    signal: AbortSignal,
  ): Promise<Wait | undefined> {
    const { name } = config;
    const pool = findPool(state, poolName);
    const writes = new RestoreWrites(this.#api, false);
    switch (action) {
      case 'CreateConfig':
        if (state.configs.has(name)) return undefined;
        if (state.terminatingConfigs.has(name)) {
          return { reason: `until the finalizers of ${name} are removed`, advice: undefined };
        }
        await writes.createConfig(config, pool, signal);
        return undefined;
      case 'AwaitNodes':
        return await findFailedNodesWait(this.#api, state, name, signal);
      case 'PausePool':
        this.#assertNoOtherRestore(pool);
        if (pool === undefined || !needsPause(state, pool, name)) return undefined;
        this.#pausedPools.add(pool.referrer.name);
        await writes.pausePool(pool, name, signal);
        return undefined;
      case 'SetPoolStatus':
        if (pool === undefined || !needsStatus(state, pool, name)) return undefined;
        await writes.setPoolStatus(pool, name, signal);
        return undefined;
      case 'AwaitMachines':
        return pool === undefined ? undefined : findMissingMachinesWait(state, pool);
      case 'UnpausePool':
        if (pool === undefined || pool.pausedFor !== name) return undefined;
        await writes.unpausePool(pool, signal);
        this.#pausedPools.delete(pool.referrer.name);
        this.#unpausedPools.add(pool.referrer.name);
        return undefined;
      default:
        return action satisfies never;
    }
  }

  #assertNoOtherRestore(pool: RestorePool | undefined): void {
    const other = findOtherRestore(pool, this.#restoredNames);
    if (other === undefined) return;
    throw new OtherRestoreError(`a restore of ${other} has paused pool ${pool?.referrer.name}; wait until it ends`);
  }

  /** Undefined for an error that the caller must see. */
  #describeStop(error: unknown): { problem: string; advice: readonly Advice[] } | undefined {
    if (this.#signal.aborted) return { problem: 'interrupted', advice: [] };
    if (error instanceof OtherRestoreError) return { problem: error.message, advice: [] };
    if (!(error instanceof UnfinishedWait)) return undefined;
    return { problem: `timed out waiting ${error.message}`, advice: error.advice };
  }

  #reportPausedPool(pool: string): void {
    const advice = advise('to give up the restore, unpause it', ...toUnpauseCommand(pool));
    this.#report(`pool ${pool} stays paused for this restore`, '', advice);
  }

  /** @param key what the text is about; the same text is reported once */
  #report(text: string, key = '', advice?: Advice): void {
    if (text === this.#lastProgress.get(key)) return;
    this.#lastProgress.set(key, text);
    this.#options.onProgress?.(text, this.#getElapsedMs(), advice);
  }

  #getElapsedMs(): number {
    return performance.now() - this.#startedAt;
  }
}

function toStepKey({ config }: RestorePlan, action: StepAction): string {
  return `${config.name} ${action}`;
}

function isRetryableStep(error: unknown): boolean {
  return isRetryableRead(error) || isConflict(error);
}
