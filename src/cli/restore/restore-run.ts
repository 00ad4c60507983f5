import type { PendingCertificateRequest } from '../../client/certificate-requests.ts';
import { ClusterAccessError, isRetryableRead } from '../../client/cluster-access.ts';
import { type Advice, advise, ShellCommand } from '../../client/output/advice.ts';
import { toUnpauseCommand } from '../../client/paused-for-restore.ts';
import { pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { withTimeout } from '../../common/wait.ts';
import type { ConfigName } from '../../decision/references.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError, describeError, isDeniedByAdmission } from '../../kube/errors.ts';
import { hasMatchingName } from '../../rendered-config/config-hash.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { chooseContent, type Content, planRestore, type Rejection, type RestorePlan } from './restore-plan.ts';
import {
  findPool,
  readImages,
  readControlPlaneReplicas,
  readRestoreState,
  type RestoreState,
} from './restore-state.ts';
import { listSteps, type RestoreStep, sendWrite, type StepAction, type Wait } from './restore-steps.ts';

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
  /** `planned`: without `--confirm`. `incomplete`: a second run continues. */
  readonly outcome: 'exists' | 'incomplete' | 'planned' | 'rejected' | 'restored';
  /** Nodes and pools, as a phrase. */
  readonly namedBy: string | null;
  readonly rejection: Rejection | null;
  readonly warnings: readonly string[];
  readonly steps: readonly (Pick<RestoreStep, 'action' | 'description'> & { readonly done: boolean })[];
}

/** Twice the longest pause between two tries of the machine-config-daemon (pkg/daemon/daemon.go). */
const NODE_RECOVERY_MS = 120_000;
const MAX_DENIAL_LENGTH = 1_000;

/**
 * Creates missing configs, and ends the deadlock of their pools. Each step reads the live state first, so a second
 * run continues where the first one stopped. It returns early at the timeout and after an abort.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function restore(api: KubeApi, options: RestoreOptions): Promise<RestoreReport> {
  return await new RestoreRun(api, options).run();
}

class RestoreRun {
  readonly #api: KubeApi;
  readonly #options: RestoreOptions;
  readonly #signal: AbortSignal;
  readonly #restoredNames: ReadonlySet<string>;
  readonly #startedAt = performance.now();
  readonly #doneSteps = new Set<RestoreStep>();
  /** The pools that this restore has paused, or may have: the response to the write can be lost. */
  readonly #pausedPools = new Set<string>();
  #controlPlaneReplicas: number | undefined;
  #lastProgress = '';

  constructor(api: KubeApi, options: RestoreOptions) {
    this.#api = api;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#restoredNames = new Set(options.configs.map(({ name }) => name));
  }

  async run(): Promise<RestoreReport> {
    const { name, isConfirmed, acceptContent } = this.#options;
    this.#controlPlaneReplicas =
      this.#options.controlPlaneReplicas ?? (await readControlPlaneReplicas(this.#api, this.#signal));
    const state = await readWithRetries((signal) => this.#readState(signal), this.#signal);
    const plans: RestorePlan[] = [];
    let problem: string | null = null;
    let wait: Wait | undefined;
    try {
      for (const content of await this.#chooseContents(state)) {
        const plan = planRestore(content, state, { name, acceptContent, restoredNames: this.#restoredNames });
        plans.push(await this.#tryWrites(plan));
      }
      if (isConfirmed) wait = await this.#takeSteps(plans);
      if (wait !== undefined) problem = `timed out waiting ${wait.reason}`;
      else if (isConfirmed) problem = await this.#awaitNodes(plans);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      problem = 'interrupted';
    } finally {
      for (const pool of this.#pausedPools) {
        const advice = advise('to give up the restore, unpause it', ...toUnpauseCommand(pool));
        this.#report(`pool ${pool} stays paused for this restore`, advice);
      }
    }
    const configs = plans.map((plan) => this.#buildConfigReport(plan));
    return {
      server: this.#api.address,
      confirmed: isConfirmed,
      ok: problem === null && configs.every(({ outcome }) => outcome !== 'rejected'),
      problem,
      advice: wait?.advice === undefined ? [] : [wait.advice],
      configs,
      pausedPools: [...this.#pausedPools].map((pool) => {
        return { name: pool, unpauseCommand: new ShellCommand(toUnpauseCommand(pool)) };
      }),
      pendingCertificateRequests: state.pendingRequests,
    };
  }

  /** Reads the images in the cluster only if a missing config has no copy that matches its name. */
  async #chooseContents({ configs: existing }: RestoreState): Promise<Content[]> {
    const { configs } = this.#options;
    const isDoubtful = configs.some((config) => !existing.has(config.name) && hasMatchingName(config) !== true);
    const images = isDoubtful
      ? await readWithRetries((signal) => readImages(this.#api, signal), this.#signal)
      : new Set<string>();
    const contents: Content[] = [];
    for (const name of this.#restoredNames) {
      const copies = configs.filter((config) => config.name === name);
      contents.push(await chooseContent(copies, images, this.#signal));
    }
    return contents;
  }

  async #readState(signal: AbortSignal): Promise<RestoreState> {
    const state = await readRestoreState(this.#api, this.#controlPlaneReplicas, signal);
    for (const { referrer, paused, pausedFor = '' } of state.pools) {
      if (paused && this.#restoredNames.has(pausedFor)) this.#pausedPools.add(referrer.name);
      else this.#pausedPools.delete(referrer.name);
    }
    return state;
  }

  /**
   * Sends every write of a plan as a dry run, so a missing right or a policy is found before the first write.
   *
   * @returns the plan, rejected if a webhook or a policy denies one of its writes
   */
  async #tryWrites(plan: RestorePlan): Promise<RestorePlan> {
    for (const { action, description, write } of plan.steps) {
      if (write === undefined) continue;
      try {
        await readWithRetries((signal) => sendWrite(this.#api, write, { isDryRun: true, signal }), this.#signal);
      } catch (error) {
        const { cause } = error instanceof ClusterAccessError ? error : {};
        // Another restore has created the config meanwhile. The step looks again.
        if (action === 'CreateConfig' && isConflict(error)) continue;
        if (!isDeniedByAdmission(cause)) throw error;
        const denial = toPrintableLine((cause as ApiError).message, MAX_DENIAL_LENGTH);
        const reason = `the API server denies to ${description}: ${denial}`;
        const advice = advise('change what the policy or webhook asks for, and run the same command again');
        return { ...plan, rejection: { code: 'WriteDenied', reason, advice }, warnings: [], steps: [] };
      }
    }
    return plan;
  }

  /**
   * A wait for one pool must not delay the steps of another. Configs of one pool share its pause.
   *
   * @returns what a step still waits for at the timeout
   */
  async #takeSteps(plans: readonly RestorePlan[]): Promise<Wait | undefined> {
    for (const action of ['PausePool', 'CreateConfig', 'SetPoolStatus'] as const) {
      for (const plan of plans) {
        const wait = await this.#takeStep(action, plan, this.#options.timeoutMs);
        if (wait !== undefined) return wait;
      }
    }
    // Only the pool of the control plane waits for machines.
    const waiting = plans.filter(({ steps }) => steps.some(({ action }) => action === 'AwaitMachines'));
    for (const plan of [...plans.filter((candidate) => !waiting.includes(candidate)), ...waiting]) {
      for (const action of ['AwaitMachines', 'UnpausePool'] as const) {
        const wait = await this.#takeStep(action, plan, this.#options.timeoutMs);
        if (wait !== undefined) return wait;
      }
    }
    return undefined;
  }

  /** @returns which nodes stay Degraded, which delays no other step */
  async #awaitNodes(plans: readonly RestorePlan[]): Promise<string | null> {
    const untilMs = Math.min(this.#getElapsedMs() + NODE_RECOVERY_MS, this.#options.timeoutMs);
    const reasons: string[] = [];
    for (const plan of plans) {
      const wait = await this.#takeStep('AwaitNodes', plan, untilMs);
      if (wait !== undefined) reasons.push(wait.reason);
    }
    return reasons.length === 0 ? null : `still waiting ${reasons.join('; ')}`;
  }

  /**
   * Repeats the step of a plan until it needs nothing more.
   *
   * @returns what it still waits for at the timeout
   */
  async #takeStep(action: StepAction, plan: RestorePlan, untilMs: number): Promise<Wait | undefined> {
    const step = plan.steps.find((candidate) => candidate.action === action);
    if (step === undefined) return undefined;
    const { intervalMs, sleep } = this.#options;
    const { answer: wait } = await pollUntilSettled({
      read: (timeoutMs) => withTimeout(timeoutMs, this.#signal, (signal) => this.#tryStep(action, plan, signal)),
      isSettled: (answer) => answer === undefined,
      timeoutMs: Math.max(0, untilMs - this.#getElapsedMs()),
      retryUntilMs: (error) => (isRetryableRead(error) || isConflict(error) ? Number.POSITIVE_INFINITY : 0),
      onAnswer: (answer) => {
        if (answer !== undefined) this.#report(`waiting ${answer.reason}`, answer.advice);
      },
      onFailure: (error) => {
        const cause = error instanceof ClusterAccessError ? `${error.message}: ${describeError(error.cause)}` : '';
        this.#report(`${cause || describeError(error)}; retrying`);
      },
      signal: this.#signal,
      ...(intervalMs !== undefined && { intervalMs }),
      ...(sleep !== undefined && { sleep }),
    });
    if (wait !== undefined) return wait;
    this.#doneSteps.add(step);
    this.#report(step.result);
    return undefined;
  }

  /** @returns what the step waits for, or undefined if it is done */
  async #tryStep(action: StepAction, plan: RestorePlan, signal: AbortSignal): Promise<Wait | undefined> {
    const state = await this.#readState(signal);
    const steps = listSteps(state, plan.config, findPool(state, plan.pool));
    const step = steps.find((candidate) => candidate.action === action);
    if (step?.isNeeded !== true) return undefined;
    if (step.wait !== undefined || step.write === undefined) return step.wait;
    if (action === 'PausePool') this.#pausedPools.add(String(plan.pool));
    await sendWrite(this.#api, step.write, { isDryRun: false, signal });
    if (action === 'UnpausePool') this.#pausedPools.delete(String(plan.pool));
    return undefined;
  }

  #buildConfigReport({ config, pool, exists, referrers, rejection, warnings, steps }: RestorePlan): ConfigReport {
    const isDone = (step: RestoreStep): boolean => this.#doneSteps.has(step);
    // Nothing waits for nodes that stay Degraded.
    const outcome = steps.every((step) => step.action === 'AwaitNodes' || isDone(step)) ? 'restored' : 'incomplete';
    const intended = exists && steps.length === 0 ? 'exists' : this.#options.isConfirmed ? outcome : 'planned';
    return {
      name: config.name,
      source: config.source,
      pool: pool ?? null,
      outcome: rejection === undefined ? intended : 'rejected',
      namedBy: referrers === '' ? null : referrers,
      rejection: rejection ?? null,
      warnings,
      steps: steps.map((step) => ({ action: step.action, description: step.description, done: isDone(step) })),
    };
  }

  #report(text: string, advice?: Advice): void {
    if (text === this.#lastProgress) return;
    this.#lastProgress = text;
    this.#options.onProgress?.(text, this.#getElapsedMs(), advice);
  }

  #getElapsedMs(): number {
    return performance.now() - this.#startedAt;
  }
}

/** The object has changed since it was read, or exists already. */
function isConflict(error: unknown): boolean {
  return error instanceof ClusterAccessError && error.cause instanceof ApiError && error.cause.status === 409;
}
