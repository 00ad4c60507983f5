import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
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
    /** Undefined if the guard has seen no deletion. */
    readonly deletedAt: string | undefined;
    readonly explanation: string;
    /** Empty if no name is near. */
    readonly suggestion: string;
  }[];
  readonly conditions: readonly Condition[];
}

/** A deletion that a replica has answered. */
interface AnsweredDeletion {
  readonly time: Date;
  readonly name: string;
  readonly user: string;
}

export interface LastDenial extends AnsweredDeletion {
  readonly references: readonly NamedReference[];
}

export interface StatusWriterOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The answers to deletions do not depend on it: the replica that answered writes them. */
  readonly isLeader: () => boolean;
  readonly status: () => GuardStatus;
}

const INTERVAL_MS = 1_000;
/** Minimum time between two writes of the answers to deletions. */
const ANSWERS_INTERVAL_MS = 10_000;
/** A few are of interest: those whose config a node names. */
const MAX_DELETIONS = 50;
const MAX_DENIAL_REFERRERS = 10;
const REQUEST_TIMEOUT_MS = 5_000;

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
  readonly #options: StatusWriterOptions;
  readonly #problem: ProblemLog;
  /** The last status that was written, and what the API server then stored. */
  #written: { readonly desired: object; readonly stored: object } | undefined;
  #denial: LastDenial | undefined;
  /** Those that were allowed and are not written yet, by the name of the config. */
  readonly #deletions = new LRUCache<string, StoredDeletion>({ max: MAX_DELETIONS });
  #answersWrittenAt = Number.NEGATIVE_INFINITY;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  /** Only the last of several denials is written. */
  recordDenial(denial: LastDenial): void {
    this.#denial = denial;
  }

  /** Only the last ones are kept. */
  recordAllowedDeletion({ time, name, user }: AnsweredDeletion): void {
    this.#deletions.set(name, { time: toSeconds(time), user });
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
    await this.#writeAnswers(signal).catch(addError);
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
    const { status = {} } = (await this.#json({ path: GUARD_PATH }, signal)) as StoredGuard;
    const lastDenial = denial && toStoredDenial(denial);
    // Another replica may have denied later.
    const isLast = lastDenial !== undefined && (status.lastDenial?.time ?? '') <= lastDenial.time;
    // Each replica patches its own keys, and removes the oldest.
    const all = Object.entries({ ...status.deletions, ...deletions });
    const oldest = all.toSorted(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(MAX_DELETIONS);
    const patch = {
      ...(isLast ? { lastDenial } : {}),
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

  async #patch(status: object, signal: AbortSignal): Promise<StoredGuard> {
    const request = { path: `${GUARD_PATH}/status`, contentType: MERGE_PATCH, body: { status } };
    return (await this.#json({ method: 'PATCH', ...request }, signal)) as StoredGuard;
  }

  async #json(request: Omit<Parameters<KubeApi['json']>[0], 'signal'>, signal: AbortSignal): Promise<unknown> {
    const { api } = this.#options;
    return await withTimeout(REQUEST_TIMEOUT_MS, signal, (limited) => api.json({ ...request, signal: limited }));
  }
}

function omitAnswers({ status = {} }: StoredGuard): object {
  const { lastDenial: _lastDenial, deletions: _deletions, ...rest } = status;
  return rest;
}

function toStoredDenial({ time, name, user, references }: LastDenial) {
  const referrers = references.slice(0, MAX_DENIAL_REFERRERS).map((reference) => ({
    kind: reference.kind,
    name: reference.name,
    field: reference.field,
  }));
  return { time: toSeconds(time), name, user, referrers };
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
