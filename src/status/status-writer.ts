import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { toRecordedReferrers } from '../decision/verdict.ts';
import { GUARD_PATH } from '../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { describeError, isNotFound } from '../kube/errors.ts';
import { ProblemLog } from '../common/logs.ts';
import { toSeconds } from '../common/duration.ts';

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
  /** `since` is RFC 3339, and `suggestion` empty if no name is near. */
  readonly danglingReferences: readonly (Readonly<
    Record<'kind' | 'name' | 'field' | 'config' | 'since' | 'explanation' | 'suggestion', string>
  > & {
    /** RFC 3339. Undefined if the guard has seen no deletion. */
    readonly deletedAt: string | undefined;
  })[];
  readonly conditions: readonly Condition[];
}

/** A denial as the status stores it. */
export interface LastDenial {
  /** RFC 3339. */
  readonly time: string;
  readonly name: string;
  readonly user: string;
  readonly referrers: ReturnType<typeof toRecordedReferrers>;
}

/** Minimum time between two writes of the answers to deletions. */
const ANSWERS_INTERVAL_MS = 10_000;
/** A few are of interest: those whose config a node names. */
const MAX_DELETIONS = 50;
const TIMEOUT_MS = 5_000;

type StoredCondition = Condition & {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};

interface StoredDeletion {
  readonly time: string;
  readonly user: string;
}

interface StoredGuard {
  readonly metadata?: { readonly generation?: number };
  readonly status?: {
    readonly conditions?: readonly StoredCondition[];
    readonly lastDenial?: { readonly time?: string };
    readonly deletions?: Readonly<Record<string, StoredDeletion>>;
  };
}

/** Writes the status when it changes, or when another client has changed it. */
export class StatusWriter {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #problem: ProblemLog;
  /** The last status that was written, and what the API server then stored. */
  #written: { readonly desired: object; readonly stored: object } | undefined;
  #denial: LastDenial | undefined;
  /** Those that were allowed and are not written yet, by the name of the config. */
  readonly #deletions = new LRUCache<string, StoredDeletion>({ max: MAX_DELETIONS });
  #answersWrittenAt = Number.NEGATIVE_INFINITY;

  constructor(api: Pick<KubeApi, 'json'>, log: Logger) {
    this.#api = api;
    this.#problem = new ProblemLog(log);
  }

  /** Only the last of several denials is written. */
  recordDenial(denial: LastDenial): void {
    this.#denial = denial;
  }

  /** Only the last ones are kept. */
  recordAllowedDeletion({ name, ...deletion }: Pick<LastDenial, 'time' | 'name' | 'user'>): void {
    this.#deletions.set(name, deletion);
  }

  /**
   * Writes the status and the answers to deletions if they changed. Never rejects.
   *
   * @param getStatus returns undefined unless this replica is the leader. The replica that answered writes the answers.
   */
  async writeIfChanged(getStatus: () => GuardStatus | undefined, signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled([this.#writeStatus(getStatus, signal), this.#writeAnswers(signal)]);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure === undefined) this.#problem.clear();
    // SettingsFollower logs that the object or its CRD is absent.
    else if (!signal.aborted && !isNotFound(failure.reason)) {
      const reason = describeError(failure.reason);
      this.#problem.warn(`cannot write the status: ${reason}`, { reason });
    }
  }

  async #writeStatus(getStatus: () => GuardStatus | undefined, signal: AbortSignal): Promise<void> {
    const status = getStatus();
    if (status === undefined) return;
    const { conditions, ...rest } = status;
    const guard = await this.#read(signal);
    const observedGeneration = guard.metadata?.generation ?? 0;
    const desired = {
      ...rest,
      observedGeneration,
      conditions: conditions.map((condition) =>
        toStoredCondition(condition, observedGeneration, guard.status?.conditions ?? []),
      ),
    };
    // The stored status can differ from the written one for ever: the CRD of an older version drops fields, and a newer
    // version of the guard has written others.
    const stored = omitAnswers(guard);
    if (isDeepStrictEqual({ desired, stored }, this.#written)) return;
    this.#written = { desired, stored: omitAnswers(await this.#patch(desired, signal)) };
  }

  async #writeAnswers(signal: AbortSignal): Promise<void> {
    const denial = this.#denial;
    const deletions = Object.fromEntries(this.#deletions.entries());
    const now = performance.now();
    const hasAnswers = denial !== undefined || this.#deletions.size > 0;
    if (!hasAnswers || now - this.#answersWrittenAt < ANSWERS_INTERVAL_MS) return;
    const { status = {} } = await this.#read(signal);
    // Another replica may have denied later.
    const isLast = denial !== undefined && (status.lastDenial?.time ?? '') <= denial.time;
    // Each replica patches its own keys, and removes the oldest.
    const all = Object.entries({ ...status.deletions, ...deletions });
    const oldest = all.toSorted(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(MAX_DELETIONS);
    const patch = {
      ...(isLast ? { lastDenial: denial } : {}),
      ...(this.#deletions.size > 0
        ? { deletions: { ...deletions, ...Object.fromEntries(oldest.map(([name]) => [name, null])) } }
        : {}),
    };
    if (Object.keys(patch).length > 0) await this.#patch(patch, signal);
    this.#answersWrittenAt = now;
    if (this.#denial === denial) this.#denial = undefined;
    for (const [name, deletion] of Object.entries(deletions)) {
      if (this.#deletions.get(name) === deletion) this.#deletions.delete(name);
    }
  }

  async #read(signal: AbortSignal): Promise<StoredGuard> {
    return (await this.#api.json({ path: GUARD_PATH, timeoutMs: TIMEOUT_MS, signal })) as StoredGuard;
  }

  async #patch(status: object, signal: AbortSignal): Promise<StoredGuard> {
    const request = { method: 'PATCH', path: `${GUARD_PATH}/status`, contentType: MERGE_PATCH } as const;
    return (await this.#api.json({ ...request, body: { status }, timeoutMs: TIMEOUT_MS, signal })) as StoredGuard;
  }
}

function omitAnswers({ status = {} }: StoredGuard): object {
  const { lastDenial: _lastDenial, deletions: _deletions, ...rest } = status;
  return rest;
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
