import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { type ApiObject, isOlderVersion } from '../kube/api-object.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { describeError, hasStatus, isNotFound } from '../kube/errors.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { toSeconds } from '../common/duration.ts';
import { GUARD_PATH } from '../api/paths.ts';
import { type Condition, CONDITION_TYPES, type GuardStatus } from './guard-status.ts';
import {
  type AnswerRecorder,
  MAX_DELETIONS,
  type RecordedDeletion,
  type RecordedDenial,
} from '../review/answer-recorder.ts';

/** As the status has them: times are in whole seconds. */
type StoredDeletion = Omit<RecordedDeletion, 'time'> & { readonly time: string };
export type LastDenial = Omit<RecordedDenial, 'time'> & { readonly time: string };

const ANSWERS_INTERVAL_MS = 10_000;

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
  readonly answers: Pick<AnswerRecorder, 'deletions' | 'lastDenial'>;
  readonly onFailure: () => void;
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
  /** Whether it has written since the last read. */
  #hasWritten = false;
  /** The last status that was written, and what the API server then stored. */
  #written: { readonly desired: object; readonly stored: object } | undefined;
  #answersWrittenAt = Number.NEGATIVE_INFINITY;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  /** The status is undefined unless this replica is the leader. The replica that answered writes the answers. */
  async write(status: GuardStatus | undefined, signal: AbortSignal): Promise<void> {
    const read = this.#options.stored();
    if (read !== this.#lastRead) this.#acceptRead(read as StoredGuard | undefined);
    this.#lastRead = read;
    let failure: unknown;
    for (const write of [this.#writeStatus.bind(this, status), this.#writeAnswers.bind(this)]) {
      // The object can be writable although it is unreadable: then its status says so.
      if (this.#guard === undefined) return;
      try {
        this.#guard = await write(this.#guard, signal);
      } catch (error) {
        if (hasStatus(error, 409)) this.#guard = undefined;
        else failure ??= error;
      }
    }
    if (failure === undefined) this.#problem.clear();
    // SettingsFollower logs that the object or its CRD is absent.
    else if (!signal.aborted && !isNotFound(failure)) {
      const reason = describeError(failure);
      this.#problem.warn(`cannot write the status: ${reason}`, { reason });
      this.#options.onFailure();
    }
  }

  /** The first read after a write can have begun before it. Later ones are older only after a restore of etcd. */
  #acceptRead(read: StoredGuard | undefined): void {
    const { resourceVersion: readVersion = '' } = read?.metadata ?? {};
    const { resourceVersion: ownVersion = '' } = this.#guard?.metadata ?? {};
    const isOutdated = this.#hasWritten && read !== undefined && isOlderVersion(readVersion, ownVersion);
    if (!isOutdated) this.#guard = read;
    this.#hasWritten = false;
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
    const { answers, now } = this.#options;
    const { lastDenial } = answers;
    const deletions = [...answers.deletions.entries()];
    const startedAt = performance.now();
    const hasAnswers = lastDenial !== undefined || deletions.length > 0;
    if (!hasAnswers || startedAt - this.#answersWrittenAt < ANSWERS_INTERVAL_MS) return guard;

    const patch: { lastDenial?: LastDenial; deletions?: Record<string, object | null> } = {};
    const { time: storedTime = '' } = guard.status?.lastDenial ?? {};
    const denial = lastDenial && toStored(lastDenial);
    // Another replica may have denied later. A time in the future is wrong.
    if (denial !== undefined && (storedTime <= denial.time || storedTime > toSeconds(now()))) patch.lastDenial = denial;
    if (deletions.length > 0) {
      // Each replica patches its own keys, and removes the oldest.
      const own = Object.fromEntries(deletions.map(([name, deletion]) => [name, toStored(deletion)]));
      // A merge patch would keep the reason of an earlier deletion.
      const written = Object.fromEntries(Object.entries(own).map(([name, each]) => [name, { reason: null, ...each }]));
      const all = Object.entries({ ...guard.status?.deletions, ...own });
      const oldest = all.toSorted(([, a], [, b]) => (a.time < b.time ? 1 : -1)).slice(MAX_DELETIONS);
      patch.deletions = { ...written, ...Object.fromEntries(oldest.map(([name]) => [name, null])) };
    }

    const answer = Object.keys(patch).length > 0 ? await this.#patch(guard, patch, signal) : guard;
    this.#answersWrittenAt = startedAt;
    if (answers.lastDenial === lastDenial) answers.lastDenial = undefined;
    for (const [name, deletion] of deletions)
      if (answers.deletions.get(name) === deletion) answers.deletions.delete(name);
    return answer;
  }

  async #patch({ metadata }: StoredGuard, status: object, signal: AbortSignal): Promise<StoredGuard> {
    const body = { metadata: { resourceVersion: metadata?.resourceVersion }, status };
    const request = { method: 'PATCH', path: `${GUARD_PATH}/status`, contentType: MERGE_PATCH, body } as const;
    const answer = await this.#options.api.json({ ...request, signal });
    this.#hasWritten = true;
    return answer as StoredGuard;
  }
}

function toStored<Answer extends RecordedDeletion>(answer: Answer): Omit<Answer, 'time'> & { readonly time: string } {
  return { ...answer, time: toSeconds(answer.time) };
}

function omitAnswers({ status = {} }: StoredGuard): object {
  const { lastDenial: _lastDenial, deletions: _deletions, ...rest } = status;
  return rest;
}
