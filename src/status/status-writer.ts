import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { NamedReference } from '../decision/references.ts';
import { GUARD_PATH } from '../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { describeError, isNotFound } from '../kube/errors.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { sleep, withTimeout } from '../common/wait.ts';

/** A condition without the fields that depend on the stored one. */
export interface Condition {
  readonly type: 'Ready' | 'ReferencesConsistent' | 'RestoresComplete' | 'CertificatesValid' | 'TLSProfileApplied';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** The part of the MachineConfigGuard's status that the leader writes. */
export interface GuardStatus {
  readonly mode: string;
  readonly version: string;
  /** Null if the guard may not read MachineConfigs. The status then lacks the field. */
  readonly protectedConfigs: number | null;
  /** Null like `protectedConfigs`. */
  readonly danglingCount: number | null;
  readonly danglingReferences: readonly {
    readonly kind: string;
    readonly name: string;
    readonly field: string;
    readonly config: string;
    /** RFC 3339. */
    readonly since: string;
    readonly explanation: string;
    /** Empty if no name is near. */
    readonly suggestion: string;
  }[];
  readonly conditions: readonly Condition[];
}

export interface LastDenial {
  readonly time: Date;
  readonly name: string;
  readonly user: string;
  readonly references: readonly NamedReference[];
}

export interface StatusWriterOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The last denial does not depend on it: the replica that denied writes it. */
  readonly isLeader: () => boolean;
  readonly status: () => GuardStatus;
}

const INTERVAL_MS = 1_000;
/** Minimum time between two writes of the last denial. */
const DENIAL_INTERVAL_MS = 10_000;
const MAX_DENIAL_REFERRERS = 10;
const REQUEST_TIMEOUT_MS = 5_000;

type StoredCondition = Condition & {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};

interface StoredGuard {
  readonly metadata?: { readonly generation?: number };
  readonly status?: {
    readonly conditions?: readonly StoredCondition[];
    readonly lastDenial?: { readonly time?: string };
  };
}

/** Writes the status when it changes, or when another client has changed it. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #problem: ProblemLog;
  /** The last status that was written, and what the API server then stored. */
  #written: { readonly desired: object; readonly stored: object } | undefined;
  #denial: LastDenial | undefined;
  #denialWrittenAt = Number.NEGATIVE_INFINITY;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  /** Only the last of several denials is written. */
  recordDenial(denial: LastDenial): void {
    this.#denial = denial;
  }

  /** Writes repeatedly until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.writeIfChanged(signal);
      await sleep(INTERVAL_MS, signal);
    }
  }

  async writeIfChanged(signal: AbortSignal): Promise<void> {
    const errors: unknown[] = [];
    const addError = (error: unknown): void => void errors.push(error);
    if (this.#options.isLeader()) await this.#writeStatus(signal).catch(addError);
    await this.#writeDenial(signal).catch(addError);
    if (errors.length === 0) this.#problem.clear();
    // SettingsFollower logs that the object or its CRD is absent.
    if (errors.length === 0 || signal.aborted || isNotFound(errors[0])) return;
    const reason = describeError(errors[0]);
    this.#problem.warn(`cannot write the status: ${reason}`, { reason });
  }

  async #writeStatus(signal: AbortSignal): Promise<void> {
    const guard = (await this.#json({ path: GUARD_PATH }, signal)) as StoredGuard;
    const observedGeneration = guard.metadata?.generation ?? 0;
    const { conditions, ...rest } = this.#options.status();
    const desired = {
      ...rest,
      observedGeneration,
      conditions: conditions.map((condition) =>
        toStoredCondition(condition, observedGeneration, guard.status?.conditions ?? []),
      ),
    };
    // The stored status can differ from the written one for ever: the CRD of an older version drops fields, and a newer
    // version of the guard has written others.
    const stored = omitDenial(guard);
    if (isDeepStrictEqual({ desired, stored }, this.#written)) return;
    this.#written = { desired, stored: omitDenial(await this.#patch(desired, signal)) };
  }

  async #writeDenial(signal: AbortSignal): Promise<void> {
    const denial = this.#denial;
    const now = performance.now();
    if (denial === undefined || now - this.#denialWrittenAt < DENIAL_INTERVAL_MS) return;
    const { time, name, user, references } = denial;
    const referrers = references.slice(0, MAX_DENIAL_REFERRERS).map((reference) => ({
      kind: reference.kind,
      name: reference.name,
      field: reference.field,
    }));
    const lastDenial = { time: toSeconds(time), name, user, referrers };
    // Another replica may have denied later.
    const { status } = (await this.#json({ path: GUARD_PATH }, signal)) as StoredGuard;
    if ((status?.lastDenial?.time ?? '') <= lastDenial.time) await this.#patch({ lastDenial }, signal);
    this.#denialWrittenAt = now;
    if (this.#denial === denial) this.#denial = undefined;
  }

  async #patch(status: object, signal: AbortSignal): Promise<StoredGuard> {
    const request = { path: `${GUARD_PATH}/status`, contentType: MERGE_PATCH, body: { status } };
    return (await this.#json({ method: 'PATCH', ...request }, signal)) as StoredGuard;
  }

  async #json(request: Omit<Parameters<KubeApi['json']>[0], 'signal'>, signal: AbortSignal): Promise<unknown> {
    const { api } = this.#options;
    return await withTimeout(REQUEST_TIMEOUT_MS, signal, (limited) => api.json({ ...request, signal: limited }));
  }
}

function omitDenial({ status = {} }: StoredGuard): object {
  const { lastDenial: _lastDenial, ...rest } = status;
  return rest;
}

/** RFC 3339 without fractions, as in `metav1.Time`. */
export function toSeconds(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}

function toStoredCondition(
  condition: Condition,
  observedGeneration: number,
  stored: readonly StoredCondition[],
): StoredCondition {
  const sameStatus = stored.find(({ type, status }) => type === condition.type && status === condition.status);
  return {
    ...condition,
    observedGeneration,
    lastTransitionTime: sameStatus?.lastTransitionTime ?? toSeconds(new Date()),
  };
}
