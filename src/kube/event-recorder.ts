import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type KubeApi, describeError } from './api.ts';
import { WriteQueue } from './write-queue.ts';

/** Something that happened to a cluster-scoped object, for `oc get events`. */
export interface ClusterEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
  /** What happened, in CamelCase. */
  readonly reason: 'DeletionDenied' | 'DeletionOverridden' | 'DanglingReference';
  /** What the guard did when it happened. */
  readonly action: 'Delete' | 'Check';
  /** For a person; cut at 1 kB, which is the API's limit. */
  readonly note: string;
}

/** What an event recorder needs. */
export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  /** The current time in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Events about cluster-scoped objects live in this namespace (client-go, tools/events). */
const NAMESPACE = 'default';
const COLLECTION = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
/** Repeats within this time belong to one series (client-go, tools/events: 6 minutes). */
const SERIES_MS = 6 * 60_000;
/** A retry storm writes its series at most this often. */
const UPDATE_MS = 5_000;
/** Series that are remembered; beyond it the oldest is forgotten and would begin anew. */
const SERIES_MAX = 1_000;
const WRITE_MS = 5_000;
/** After a restore of etcd each node may deserve an Event. The status and the metrics tell how many there are. */
const WRITES = { atOnce: 4, waiting: 500 } as const;
/** What is given up is told at most this often. */
const GIVEN_UP_MS = 60_000;
/** The API counts bytes (kubernetes, pkg/apis/core/validation/events.go). */
const NOTE_MAX = 1_024;

interface Series {
  readonly name: string;
  count: number;
  lastAt: number;
  writtenAt: number;
  /** Writes follow each other, so that a series is not updated before its event exists. */
  writing: Promise<unknown>;
  later: NodeJS.Timeout | undefined;
}

/**
 * Writes Kubernetes Events (`events.k8s.io/v1`) and folds repeats into a series. A denial never waits for its event and
 * never fails because of it; an event that cannot be written is lost, and the log says so.
 */
export class EventRecorder {
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #series = new Map<string, Series>();
  readonly #instance = hostname();
  readonly #writes = new WriteQueue(WRITES);
  #givenUpAt = Number.NEGATIVE_INFINITY;

  constructor({ api, log, now = Date.now }: EventRecorderOptions) {
    this.#api = api;
    this.#log = log;
    this.#now = now;
  }

  /** Records the event in the background. */
  record(event: ClusterEvent): void {
    const key = `${event.reason}/${event.regarding.kind}/${event.regarding.uid}/${event.regarding.name}`;
    const now = this.#now();
    const series = this.#series.get(key);
    if (series === undefined || now - series.lastAt > SERIES_MS) {
      this.#begin(key, event, now);
      return;
    }
    series.count += 1;
    series.lastAt = now;
    if (series.later !== undefined) return;
    const wait = Math.max(0, UPDATE_MS - (now - series.writtenAt));
    series.later = setTimeout(() => {
      this.#update(key, series);
    }, wait);
  }

  /** Writes what is still to be written. */
  async flush(): Promise<void> {
    for (const [key, series] of this.#series) {
      if (series.later === undefined) continue;
      clearTimeout(series.later);
      this.#update(key, series);
    }
    await Promise.all([...this.#series.values()].map(async ({ writing }) => await writing));
  }

  #begin(key: string, { regarding, reason, action, note }: ClusterEvent, now: number): void {
    const name = `machineconfig-guard.${randomUUID()}`;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: NAMESPACE },
      eventTime: microTime(now),
      type: 'Warning',
      reason,
      action,
      note: cut(note),
      reportingController: 'machineconfig-guard.io/guard',
      reportingInstance: this.#instance.slice(0, 128),
      regarding,
    };
    const writing = this.#write('POST', COLLECTION, body);
    this.#series.delete(key);
    this.#series.set(key, { name, count: 1, lastAt: now, writtenAt: now, writing, later: undefined });
    for (const [oldest, { later }] of this.#series) {
      if (this.#series.size <= SERIES_MAX) break;
      clearTimeout(later);
      this.#series.delete(oldest);
    }
  }

  #update(key: string, series: Series): void {
    series.later = undefined;
    series.writtenAt = this.#now();
    series.writing = series.writing.then(async () => {
      const body = { series: { count: series.count, lastObservedTime: microTime(series.lastAt) } };
      const written = await this.#write('PATCH', `${COLLECTION}/${series.name}`, body);
      // The event was cleaned up meanwhile, or never came to be: the next repeat begins a new one.
      if (!written && this.#series.get(key) === series) this.#series.delete(key);
    });
  }

  async #write(method: 'POST' | 'PATCH', path: string, body: unknown): Promise<boolean> {
    try {
      const written = await this.#writes.inTurn(() =>
        this.#api.json({
          method,
          path,
          body,
          ...(method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {}),
          signal: AbortSignal.timeout(WRITE_MS),
        }),
      );
      if (!written) this.#giveUp();
      return written;
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'an event could not be written');
      return false;
    }
  }

  #giveUp(): void {
    const now = this.#now();
    if (now - this.#givenUpAt < GIVEN_UP_MS) return;
    this.#givenUpAt = now;
    this.#log.warn(
      { waiting: WRITES.waiting },
      'too many events at once: the oldest of those that wait are not written',
    );
  }
}

/** The note within the API's limit; a character is not cut in two. */
function cut(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= NOTE_MAX) return note;
  return `${bytes.toString('utf8', 0, NOTE_MAX - 3).replace(/\uFFFD$/, '')}...`;
}

/** Events have microseconds (`metav1.MicroTime`); a time with three digits is refused by older API servers. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
