import type { ConfigName } from '../../decision/config-name.ts';
import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import { ClusterAccessError, isRetryableRead } from '../../client/cluster-access.ts';
import { pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { toShellWord } from '../../client/shell-word.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError, describeError, isDeniedByAdmission } from '../../kube/errors.ts';
import { withTimeout } from '../../common/wait.ts';
import { hasMatchingName } from '../../rendered-config/config-hash.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import { chooseContent, type Content, NO_EVIDENCE, readContentEvidence } from './choose-content.ts';
import { readControlPlaneReplicas } from './control-plane-replicas.ts';
import { findOtherRestore, planRestore, type RestorePlan, type StepAction } from './restore-plan.ts';
import {
  countMissingMachines,
  findFailedNodes,
  findNodesOfConfig,
  findPool,
  findUnreadyNodes,
  needsPause,
  needsStatus,
  readRestoreState,
  type RestorePool,
  type RestoreState,
} from './restore-state.ts';
import { formatUnpauseCommand, RestoreWrites } from './restore-writes.ts';

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
  readonly onProgress?: (text: string, elapsedMs: number) => void;
  /** Ends the restore after the current request. */
  readonly signal?: AbortSignal;
}

/** The JSON of `restore --output json`. Its keys are a contract. */
export type RestoreReport = Awaited<ReturnType<typeof restore>>;
export type ConfigReport = RestoreReport['configs'][number];

/** They wait for nothing, so all pools take them before the first wait. */
const FIRST_STEPS: readonly StepAction[] = ['PausePool', 'CreateConfig', 'SetPoolStatus'];
const LAST_STEPS: readonly StepAction[] = ['AwaitMachines', 'UnpausePool', 'AwaitNodes'];
/** Twice the longest pause between two tries of the machine-config-daemon (pkg/daemon/daemon.go). */
const NODE_RECOVERY_MS = 120_000;
const MAX_REASON_LENGTH = 200;
const MAX_DENIAL_LENGTH = 1_000;
const MAX_NAMED_NODES = 3;

/**
 * Creates missing configs, and ends the deadlock of their pools. Each step reads the live state first, so a second
 * run continues where the first one stopped. It returns early at the timeout and after an abort.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function restore(api: KubeApi, options: RestoreOptions) {
  return await new RestoreRun(api, options).run();
}

/** Another restore has paused a pool between the plan and the pause. */
class OtherRestoreError extends Error {
  override readonly name = 'OtherRestoreError';
}

/** A wait that did not end in time. */
class UnfinishedWait extends Error {
  override readonly name = 'UnfinishedWait';
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
  readonly #nodeWaits = new Map<ConfigName, string>();
  #controlPlaneReplicas: number | undefined;
  readonly #lastProgress = new Map<string, string>();

  constructor(api: KubeApi, options: RestoreOptions) {
    this.#api = api;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#restoredNames = new Set(options.configs.map(({ name }) => name));
  }

  async run() {
    const { isConfirmed } = this.#options;
    this.#controlPlaneReplicas =
      this.#options.controlPlaneReplicas ?? (await readControlPlaneReplicas(this.#api, this.#signal));
    const state = await readWithRetries((signal) => this.#readState(signal), this.#signal);
    const { name, acceptContent } = this.#options;
    const planOptions = { name, acceptContent, restoredNames: this.#restoredNames };
    const plans: RestorePlan[] = [];
    let problem: string | undefined;
    try {
      for (const content of await this.#chooseContents(state)) {
        const plan = planRestore(content, state, planOptions);
        plans.push(await this.#tryWrites(plan, state));
      }
      if (isConfirmed) await this.#executeSteps(plans);
      const waits = plans.flatMap(({ config }) => this.#nodeWaits.get(config.name) ?? []);
      if (waits.length > 0) problem = `still waiting ${waits.join('; ')}`;
    } catch (error) {
      problem = this.#describeStop(error);
      if (problem === undefined) throw error;
    } finally {
      for (const pool of this.#pausedPools) this.#reportPausedPool(pool);
    }
    return this.#buildReport(plans, state, problem);
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

  /**
   * Sends every write of a plan as a dry run, so a missing right or a policy is found before the first write.
   *
   * @returns the plan, rejected if a webhook or a policy denies one of its writes
   */
  async #tryWrites(plan: RestorePlan, state: RestoreState): Promise<RestorePlan> {
    const { config, pool: poolName, steps } = plan;
    const writes = new RestoreWrites(this.#api, true);
    const pool = findPool(state, poolName);
    let write = '';
    const tryStep = async (action: StepAction, send: () => Promise<void>): Promise<void> => {
      const step = steps.find((candidate) => candidate.action === action);
      if (step === undefined) return;
      write = step.description;
      await send();
    };
    try {
      await readWithRetries(async (signal) => {
        await tryStep('CreateConfig', async () => {
          await writes.createConfig(config, pool, signal).catch((error: unknown) => {
            // Another restore has created it meanwhile. The step looks again.
            if (!isConflict(error)) throw error;
          });
        });
        if (pool === undefined) return;
        await tryStep('PausePool', () => writes.pausePool(pool, config.name, signal));
        await tryStep('SetPoolStatus', () => writes.setPoolStatus(pool, config.name, signal));
        await tryStep('UnpausePool', () => writes.unpausePool(pool, signal));
      }, this.#signal);
      return plan;
    } catch (error) {
      const { cause } = error instanceof ClusterAccessError ? error : {};
      if (!isDeniedByAdmission(cause)) throw error;
      const { message } = cause as ApiError;
      const reason = `the API server denies to ${write}: ${toPrintableLine(message, MAX_DENIAL_LENGTH)}`;
      const advice = 'change what the policy or webhook asks for, and run the same command again';
      return { ...plan, rejection: { code: 'WriteDenied', reason, advice }, warnings: [], steps: [] };
    }
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
    // A message can end with a command, to which " and " would add words.
    if (waits.length > 0) throw new UnfinishedWait(waits.map(({ message }) => message).join('; '));
  }

  async #executeInOrder(actions: readonly StepAction[], plans: readonly RestorePlan[]): Promise<void> {
    for (const action of actions) {
      for (const plan of plans) {
        if (!plan.steps.some((step) => step.action === action)) continue;
        if (!(await this.#executeStep(action, plan))) continue;
        this.#doneSteps.add(toStepKey(plan, action));
        this.#report(describeDone(action, plan));
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
    const { answer: waitReason } = await pollUntilSettled({
      read: (timeoutMs) =>
        withTimeout(timeoutMs, this.#signal, async (signal) => {
          const state = await this.#readState(signal);
          return await this.#takeStep(action, plan, state, signal);
        }),
      isSettled: (reason) => reason === undefined,
      timeoutMs,
      retryUntilMs: (error) => (!this.#signal.aborted && isRetryableStep(error) ? Number.POSITIVE_INFINITY : 0),
      onAnswer: (reason) => {
        if (reason !== undefined) this.#report(`waiting ${reason}`, key);
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
    if (waitReason === undefined) return true;
    if (action !== 'AwaitNodes') throw new UnfinishedWait(waitReason);
    this.#nodeWaits.set(plan.config.name, waitReason);
    return false;
  }

  /** @returns what the step waits for, or undefined if it is done */
  async #takeStep(
    action: StepAction,
    { config, pool: poolName }: RestorePlan,
    state: RestoreState,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { name } = config;
    const pool = findPool(state, poolName);
    const writes = new RestoreWrites(this.#api, false);
    switch (action) {
      case 'CreateConfig':
        if (state.configs.has(name)) return undefined;
        if (state.terminatingConfigs.has(name)) return `until the finalizers of ${name} are removed`;
        await writes.createConfig(config, pool, signal);
        return undefined;
      case 'AwaitNodes':
        return await this.#describeFailedNodes(state, name, signal);
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
        if (pool === undefined) return undefined;
        return this.#describeMissingMachines(state, countMissingMachines(state, pool), pool.referrer.name);
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
    throw new OtherRestoreError(
      `a restore of ${other} has paused pool ${pool?.referrer.name}; wait until it ends`,
    );
  }

  async #describeFailedNodes(
    state: RestoreState,
    name: ConfigName,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const failed = findFailedNodes(findNodesOfConfig(state, name));
    const example = failed.find(({ reason }) => reason !== '') ?? failed[0];
    if (example === undefined) return undefined;
    const names = failed.map(({ referrer }) => referrer.name);
    const verb = failed.length === 1 ? 'leaves' : 'leave';
    const reason = example.reason === '' ? '' : ` (${toPrintableLine(example.reason, MAX_REASON_LENGTH)})`;
    const wait = `until ${joinFirst(names, MAX_NAMED_NODES)} ${verb} ${example.state}${reason}`;
    const unready = await findUnreadyNodes(this.#api, names.slice(0, MAX_NAMED_NODES), signal);
    return unready.length === 0 ? wait : `${wait}; ${adviseOnUnreadyNodes(unready)}`;
  }

  #describeMissingMachines({ pendingRequests }: RestoreState, count: number, pool: string): string | undefined {
    if (count === 0) return undefined;
    const reason = `for ${countNoun(count, 'machine')} to join pool ${pool}`;
    if (pendingRequests.length === 0) return reason;
    const names = pendingRequests.map((request) => request.name).join(' ');
    const nodes = [...new Set(pendingRequests.map(({ node }) => node ?? 'an unknown node'))];
    const requests = `certificate requests of ${joinWithAnd(nodes)} are pending`;
    return `${reason}; ${requests}. Check their requestors, then run: oc adm certificate approve ${names}`;
  }

  /** Undefined for an error that the caller must see. */
  #describeStop(error: unknown): string | undefined {
    if (this.#signal.aborted) return 'interrupted';
    if (error instanceof OtherRestoreError) return error.message;
    return error instanceof UnfinishedWait ? `timed out waiting ${error.message}` : undefined;
  }

  #reportPausedPool(pool: string): void {
    this.#report(`pool ${pool} stays paused for this restore. To unpause it: ${formatUnpauseCommand(pool)}`);
  }

  /** @param key what the text is about; the same text is reported once */
  #report(text: string, key = ''): void {
    if (text === this.#lastProgress.get(key)) return;
    this.#lastProgress.set(key, text);
    this.#options.onProgress?.(text, this.#getElapsedMs());
  }

  #getElapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  #buildReport(plans: readonly RestorePlan[], state: RestoreState, problem: string | undefined) {
    const { isConfirmed } = this.#options;
    const configs = plans.map((plan) => {
      const { config, pool, referrers, rejection, warnings } = plan;
      const steps = plan.steps.map(({ action, description }) => {
        return { action, description, done: this.#doneSteps.has(toStepKey(plan, action)) };
      });
      return {
        name: config.name,
        source: config.source,
        pool: pool ?? null,
        outcome: toOutcome(plan, {
          isConfirmed,
          isDone: steps.every(({ action, done }) => done || action === 'AwaitNodes'),
        }),
        namedBy: referrers === '' ? null : referrers,
        rejection: rejection ?? null,
        warnings,
        steps,
      };
    });
    return {
      server: this.#api.address,
      confirmed: isConfirmed,
      ok: problem === undefined && configs.every(({ outcome }) => outcome !== 'rejected'),
      problem: problem ?? null,
      configs,
      pausedPools: [...this.#pausedPools].map((name) => ({ name, unpauseCommand: formatUnpauseCommand(name) })),
      pendingCertificateRequests: state.pendingRequests,
    };
  }
}

type Outcome = 'exists' | 'incomplete' | 'planned' | 'rejected' | 'restored';

function toOutcome(
  { exists, rejection, steps }: RestorePlan,
  { isConfirmed, isDone }: Record<'isConfirmed' | 'isDone', boolean>,
): Outcome {
  if (rejection !== undefined) return 'rejected';
  if (exists && steps.length === 0) return 'exists';
  if (!isConfirmed) return 'planned';
  return isDone ? 'restored' : 'incomplete';
}

function describeDone(action: StepAction, { config: { name }, pool }: RestorePlan): string {
  switch (action) {
    case 'PausePool':
      return `paused pool ${pool}`;
    case 'CreateConfig':
      return `created ${name}`;
    case 'AwaitNodes':
      return `no node that names ${name} is Degraded`;
    case 'SetPoolStatus':
      return `set the status of pool ${pool}; new machines can get their config`;
    case 'AwaitMachines':
      return `all machines of pool ${pool} have joined`;
    case 'UnpausePool':
      return `unpaused pool ${pool}`;
    default:
      return action satisfies never;
  }
}

/** The daemon of such a node does not run, or cannot reach the API server. */
function adviseOnUnreadyNodes(names: readonly string[]): string {
  const isOne = names.length === 1;
  const [verb, them] = isOne ? ['is', 'it'] : ['are', 'them'];
  const command = `oc delete node ${names.map(toShellWord).join(' ')}`;
  return `${joinWithAnd(names)} ${verb} not Ready. Start ${them}, or for a lost machine, run: ${command}`;
}

function toStepKey({ config }: RestorePlan, action: StepAction): string {
  return `${config.name} ${action}`;
}

function isRetryableStep(error: unknown): boolean {
  return isRetryableRead(error) || isConflict(error);
}

/** The object has changed since it was read, or exists already. */
function isConflict(error: unknown): boolean {
  const { cause } = error instanceof ClusterAccessError ? error : {};
  return cause instanceof ApiError && cause.status === 409;
}
