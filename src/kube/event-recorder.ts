import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import type { Logger } from 'pino';
import { type KubeApi, MERGE_PATCH } from './api.ts';
import { describeError } from './errors.ts';
import { RateLimiter } from './rate-limiter.ts';
import { ThrottledLog } from './throttled-log.ts';

/** An Event about a cluster-scoped object. */
export interface ClusterEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly reason:
    'DeletionDenied' | 'DeletionOverridden' | 'DanglingReference' | 'ReferencedConfigTerminating';
  readonly action: 'Delete' | 'Check';
  /** Truncated to 1 KiB, the limit of the API. */
  readonly note: string;
  /** Who sent the request. The note names the user, so each user starts a series. */
  readonly user?: string;
}

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** The `reportingController` of the guard's Events. */
export const EVENT_REPORTER = 'machineconfig-guard.io/guard';
/** The namespace of Events about cluster-scoped objects (client-go, tools/events). */
const NAMESPACE = 'default';
const COLLECTION = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
/** Repetitions within this time belong to one series, as in client-go (tools/events). */
const SERIES_MS = 6 * 60_000;
/** A series is updated at most this often. */
const UPDATE_INTERVAL_MS = 5_000;
const MAX_SERIES = 1_000;
const WRITE_TIMEOUT_MS = 5_000;
const MAX_CONCURRENT_WRITES = 4;
/**
 * Any client can make the guard record Events, and after an etcd restore there can be one for each node. The status
 * and the metrics count them all.
 */
const MAX_WRITES_AT_ONCE = 500;
const WRITE_INTERVAL_MS = 100;
/** The API counts bytes (kubernetes, pkg/apis/core/validation/events.go). */
const MAX_NOTE_BYTES = 1_024;

interface Series {
  readonly name: string;
  count: number;
  lastAt: number;
  writtenAt: number;
  /** An update waits until the Event exists. */
  lastWrite: Promise<unknown>;
  updateTimer: NodeJS.Timeout | undefined;
}

/**
 * Writes Events (`events.k8s.io/v1`) in the background and folds repetitions into a series. The recorder logs
 * and drops an Event that it cannot write.
 */
export class EventRecorder {
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #series = new LRUCache<string, Series>({
    max: MAX_SERIES,
    dispose: ({ updateTimer }) => {
      clearTimeout(updateTimer);
    },
  });
  readonly #instance = hostname().slice(0, 128);
  readonly #writes = new PQueue({ concurrency: MAX_CONCURRENT_WRITES });
  readonly #rate: RateLimiter;
  readonly #overflow: ThrottledLog;

  constructor({ api, log, now = Date.now }: EventRecorderOptions) {
    this.#api = api;
    this.#log = log;
    this.#now = now;
    this.#rate = new RateLimiter(MAX_WRITES_AT_ONCE, WRITE_INTERVAL_MS);
    this.#overflow = new ThrottledLog(log);
  }

  record(event: ClusterEvent): void {
    const { kind, uid, name } = event.regarding;
    const key = `${event.reason}/${kind}/${uid}/${name}/${event.user ?? ''}`;
    const now = this.#now();
    const series = this.#series.get(key);
    if (series === undefined || now - series.lastAt > SERIES_MS) {
      this.#startSeries(key, event, now);
      return;
    }
    series.count += 1;
    series.lastAt = now;
    series.updateTimer ??= setTimeout(
      () => {
        this.#updateSeries(key, series);
      },
      Math.max(0, UPDATE_INTERVAL_MS - (now - series.writtenAt)),
    );
  }

  /** Writes the pending updates and waits for all writes. */
  async flush(): Promise<void> {
    for (const [key, series] of this.#series.entries()) {
      if (series.updateTimer !== undefined) this.#updateSeries(key, series);
    }
    await Promise.all([...this.#series.values()].map(async ({ lastWrite }) => await lastWrite));
  }

  #startSeries(key: string, { regarding, reason, action, note }: ClusterEvent, now: number): void {
    const name = `machineconfig-guard.${randomUUID()}`;
    const lastWrite = this.#write('POST', COLLECTION, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: NAMESPACE },
      eventTime: toMicroTime(now),
      type: 'Warning',
      reason,
      action,
      note: truncateNote(note),
      reportingController: EVENT_REPORTER,
      reportingInstance: this.#instance,
      regarding,
    });
    this.#series.set(key, { name, count: 1, lastAt: now, writtenAt: now, lastWrite, updateTimer: undefined });
  }

  #updateSeries(key: string, series: Series): void {
    clearTimeout(series.updateTimer);
    series.updateTimer = undefined;
    series.writtenAt = this.#now();
    series.lastWrite = series.lastWrite.then(async () => {
      const body = { series: { count: series.count, lastObservedTime: toMicroTime(series.lastAt) } };
      const isWritten = await this.#write('PATCH', `${COLLECTION}/${series.name}`, body);
      // The Event expired or was never written. The next repetition starts a new series.
      if (!isWritten && this.#series.peek(key) === series) this.#series.delete(key);
    });
  }

  async #write(method: 'POST' | 'PATCH', path: string, body: unknown): Promise<boolean> {
    // The queue also fills while the API server does not answer.
    if (this.#writes.size >= MAX_WRITES_AT_ONCE || !this.#rate.tryAcquire()) {
      this.#overflow.warn('too many Events; dropping new ones', {});
      return false;
    }
    try {
      await this.#writes.add(async () => {
        const contentType = method === 'PATCH' ? { contentType: MERGE_PATCH } : {};
        const signal = AbortSignal.timeout(WRITE_TIMEOUT_MS);
        await this.#api.json({ method, path, body, ...contentType, signal });
      });
      return true;
    } catch (error) {
      this.#log.warn({ reason: describeError(error) }, 'cannot write an Event');
      return false;
    }
  }
}

function truncateNote(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= MAX_NOTE_BYTES) return note;
  // A character that was cut in two decodes to U+FFFD.
  return `${bytes.toString('utf8', 0, MAX_NOTE_BYTES - 3).replace(/\uFFFD$/, '')}...`;
}

/** Older API servers reject a `metav1.MicroTime` with three digits. */
function toMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
