import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RecordedReferrer } from '../review/verdict.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { ApiError, describeError, isNotFound } from '../kube/errors.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { toSeconds } from '../common/duration.ts';
import { GUARD_PATH } from '../api/paths.ts';
import { type Condition, CONDITION_TYPES, type GuardStatus } from './guard-status.ts';

interface StoredDeletion {
  readonly time: string;
  readonly user: string;
}

export interface LastDenial extends StoredDeletion {
  readonly name: string;
  readonly referrers: readonly RecordedReferrer[];
}

const ANSWERS_INTERVAL_MS = 10_000;
/** A few are of interest: those whose config a node names. */
const MAX_DELETIONS = 50;
const TIMEOUT_MS = 5_000;

type StoredCondition = Omit<Condition, 'type'> & {
  readonly type: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};

interface StoredGuard {
  readonly metadata?: { readonly generation?: number; readonly resourceVersion?: string };
  readonly status?: {
    readonly conditions?: readonly StoredCondition[];
    readonly lastDenial?: { readonly time?: string };
    readonly deletions?: Readonly<Record<string, StoredDeletion>>;
  };
}

export interface StatusWriterOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The last MachineConfigGuard that was read; undefined if it does not exist. */
  readonly stored: () => ApiObject | undefined;
  /** By the clock of the API server, because replicas compare what they write. */
  readonly now: () => Date;
}

/**
 * Writes the status when it changes, or when another client has changed it. The resourceVersion in each write keeps it
 * from overwriting what another client has written meanwhile.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #problem: ProblemLog;
  #lastRead: ApiObject | undefined;
  /** As last read or written. Undefined after a conflict, until the next read. */
  #guard: StoredGuard | undefined;
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

  recordDenial(denial: LastDenial): void {
    this.#denial = denial;
  }

  recordAllowedDeletion({ name, ...deletion }: Pick<LastDenial, 'time' | 'name' | 'user'>): void {
    this.#deletions.set(name, deletion);
  }

  /** The status is undefined unless this replica is the leader. The replica that answered writes the answers. */
  async write(status: GuardStatus | undefined, signal: AbortSignal): Promise<void> {
    const read = this.#options.stored();
    if (read !== this.#lastRead) this.#guard = read as StoredGuard | undefined;
    this.#lastRead = read;
    let failure: unknown;
    for (const write of [this.#writeStatus.bind(this, status), this.#writeAnswers.bind(this)]) {
      // The object can be writable although it is unreadable: then its status says so.
      if (this.#guard === undefined) return;
      try {
        this.#guard = await write(this.#guard, signal);
      } catch (error) {
        if (error instanceof ApiError && error.status === 409) this.#guard = undefined;
        else failure ??= error;
      }
    }
    if (failure === undefined) this.#problem.clear();
    // SettingsFollower logs that the object or its CRD is absent.
    else if (!signal.aborted && !isNotFound(failure)) {
      const reason = describeError(failure);
      this.#problem.warn(`cannot write the status: ${reason}`, { reason });
    }
  }

  async #writeStatus(status: GuardStatus | undefined, guard: StoredGuard, signal: AbortSignal): Promise<StoredGuard> {
    if (status === undefined) return guard;
    const { conditions, ...rest } = status;
    const observedGeneration = guard.metadata?.generation ?? 0;
    const storedConditions = guard.status?.conditions ?? [];
    const foreign = storedConditions.filter(({ type }) => !CONDITION_TYPES.some((own) => own === type));
    const own = conditions.map(({ type, status: value, reason, message }): StoredCondition => {
      const same = storedConditions.find((other) => other.type === type && other.status === value);
      const lastTransitionTime = same?.lastTransitionTime ?? toSeconds(this.#options.now());
      return { type, status: value, reason, message, observedGeneration, lastTransitionTime };
    });
    const desired = { ...rest, observedGeneration, conditions: [...own, ...foreign] };
    // The stored status can differ from the written one for ever: the CRD of an older version drops fields, and a newer
    // version of the guard has written others.
    const stored = omitAnswers(guard);
    if (isDeepStrictEqual({ desired, stored }, this.#written)) return guard;
    const answer = await this.#patch(guard, desired, signal);
    this.#written = { desired, stored: omitAnswers(answer) };
    return answer;
  }

  async #writeAnswers(guard: StoredGuard, signal: AbortSignal): Promise<StoredGuard> {
    const denial = this.#denial;
    const deletions = Object.fromEntries(this.#deletions.entries());
    const now = performance.now();
    const hasAnswers = denial !== undefined || this.#deletions.size > 0;
    if (!hasAnswers || now - this.#answersWrittenAt < ANSWERS_INTERVAL_MS) return guard;
    const { status = {} } = guard;
    // Another replica may have denied later. A time in the future is wrong.
    const { time: lastTime = '' } = status.lastDenial ?? {};
    const isLast = denial !== undefined && (lastTime <= denial.time || lastTime > toSeconds(this.#options.now()));
    // Each replica patches its own keys, and removes the oldest.
    const all = Object.entries({ ...status.deletions, ...deletions });
    const oldest = all.toSorted(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(MAX_DELETIONS);
    const patch = {
      ...(isLast ? { lastDenial: denial } : {}),
      ...(this.#deletions.size > 0
        ? { deletions: { ...deletions, ...Object.fromEntries(oldest.map(([name]) => [name, null])) } }
        : {}),
    };
    const answer = Object.keys(patch).length > 0 ? await this.#patch(guard, patch, signal) : guard;
    this.#answersWrittenAt = now;
    if (this.#denial === denial) this.#denial = undefined;
    for (const [name, deletion] of Object.entries(deletions)) {
      if (this.#deletions.get(name) === deletion) this.#deletions.delete(name);
    }
    return answer;
  }

  async #patch({ metadata }: StoredGuard, status: object, signal: AbortSignal): Promise<StoredGuard> {
    const body = { metadata: { resourceVersion: metadata?.resourceVersion }, status };
    const request = { method: 'PATCH', path: `${GUARD_PATH}/status`, contentType: MERGE_PATCH, body } as const;
    return (await this.#options.api.json({ ...request, timeoutMs: TIMEOUT_MS, signal })) as StoredGuard;
  }
}

function omitAnswers({ status = {} }: StoredGuard): object {
  const { lastDenial: _lastDenial, deletions: _deletions, ...rest } = status;
  return rest;
}
