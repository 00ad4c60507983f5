import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { KubeApi } from './api.ts';
import { ApiError, describeError } from './errors.ts';
import { RateLimiter, ThrottledLog } from '../common/problem-log.ts';
import { NEVER_ABORTED } from '../common/wait.ts';

export interface ClusterEvent {
  readonly regarding: Readonly<Record<'apiVersion' | 'kind' | 'name' | 'uid', string>>;
  readonly reason: 'DeletionDenied' | 'DeletionOverridden' | 'DanglingReference';
  readonly action: 'Delete' | 'Check';
  /** Truncated to 1 KiB, the limit of the API. */
  readonly note: string;
  /** Who sent the request. The note names the user, so each user gets an Event. */
  readonly user?: string;
  /** The config that a node names. A node gets an Event for each. */
  readonly config?: string | undefined;
}

/** The `reportingController` of the guard's Events. */
const EVENT_REPORTER = 'machineconfig-guard.io/guard';
/** The namespace of Events about cluster-scoped objects (client-go, tools/events). */
const NAMESPACE = 'default';
const COLLECTION = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
/** Repetitions within this time are not written. The log and the metrics have all. */
const PERIOD_MS = 6 * 60_000;
const MAX_REMEMBERED = 1_000;
const WRITE_TIMEOUT_MS = 5_000;
/** Any client can make the guard record Events. After an etcd restore there can be one for each node. */
const MAX_WRITES_AT_ONCE = 500;
const WRITE_INTERVAL_MS = 100;
/** The API counts bytes (kubernetes, pkg/apis/core/validation/events.go). */
const MAX_NOTE_BYTES = 1_024;

/**
 * Writes Events (`events.k8s.io/v1`) in the background, one for each object, reason, user and config in six minutes.
 * The name of an Event follows from these, so the API server rejects the second of two replicas. An Event that cannot
 * be written is logged and dropped.
 */
export class EventRecorder {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #log: Logger;
  readonly #recent = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  readonly #writes = new Set<Promise<void>>();
  readonly #rate = new RateLimiter(MAX_WRITES_AT_ONCE, WRITE_INTERVAL_MS);
  readonly #overflow: ThrottledLog;

  constructor(api: Pick<KubeApi, 'json'>, log: Logger) {
    this.#api = api;
    this.#log = log;
    this.#overflow = new ThrottledLog(log);
  }

  record(event: ClusterEvent): void {
    const now = Date.now();
    const name = toEventName(event, Math.floor(now / PERIOD_MS));
    if (this.#recent.has(name)) return;
    if (!this.#rate.tryAcquire()) {
      this.#overflow.warn('too many Events; dropping new ones', {});
      return;
    }
    this.#recent.set(name, true);
    const writing = this.#write(name, now, event).finally(() => this.#writes.delete(writing));
    this.#writes.add(writing);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#writes);
  }

  async #write(name: string, now: number, { regarding, reason, action, note }: ClusterEvent): Promise<void> {
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: NAMESPACE },
      // Older API servers reject a `metav1.MicroTime` with three digits.
      eventTime: new Date(now).toISOString().replace('Z', '000Z'),
      type: 'Warning',
      reason,
      action,
      note: truncateNote(note),
      reportingController: EVENT_REPORTER,
      reportingInstance: hostname().slice(0, 128),
      regarding,
    };
    try {
      const limits = { timeoutMs: WRITE_TIMEOUT_MS, purpose: 'events', signal: NEVER_ABORTED } as const;
      await this.#api.json({ method: 'POST', path: COLLECTION, body, ...limits });
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return;
      this.#log.warn({ reason: describeError(error) }, 'cannot write an Event');
      this.#recent.delete(name);
    }
  }
}

function toEventName({ regarding, reason, user, config }: ClusterEvent, period: number): string {
  const { kind, uid, name } = regarding;
  const identity = JSON.stringify([kind, uid, name, reason, user, config, period]);
  return `machineconfig-guard.${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`;
}

function truncateNote(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= MAX_NOTE_BYTES) return note;
  // A character that was cut in two decodes to U+FFFD.
  return `${bytes.toString('utf8', 0, MAX_NOTE_BYTES - 3).replace(/\uFFFD$/, '')}...`;
}
