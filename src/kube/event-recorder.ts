import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { KubeApi, Purpose } from './api.ts';
import { describeError, hasStatus } from './errors.ts';
import { NEVER_ABORTED } from '../common/wait.ts';
import { RateLimiter } from '../common/rate-limiter.ts';
import { ThrottledLog } from '../common/throttled-log.ts';

/** An Event about a cluster-scoped object. */
export interface ClusterEvent {
  readonly regarding: Readonly<Record<'apiVersion' | 'kind' | 'name' | 'uid', string>>;
  /** In UpperCamelCase, such as `DeletionDenied`. */
  readonly reason: string;
  readonly action: string;
  /** Truncated to 1 KiB, the limit of the API. */
  readonly note: string;
  /** Distinguishes Events of one object and reason, such as those of different users. Each variant gets an Event. */
  readonly variant?: string | undefined;
}

export interface EventRecorderOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The `reportingController`. */
  readonly controller: string;
  /** The start of the name of each Event. */
  readonly namePrefix: string;
}

/** The namespace of Events about cluster-scoped objects (client-go, tools/events). */
const NAMESPACE = 'default';
const COLLECTION = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
/** Repetitions within this time are not written. The log and the metrics have all. */
const PERIOD_MS = 6 * 60_000;
const MAX_REMEMBERED = 1_000;
export const EVENTS: Purpose = { name: 'events', maxConnections: 4 };
/** Any client can make the guard record Events. After an etcd restore there can be one for each node. */
const MAX_WRITES_AT_ONCE = 500;
const WRITE_INTERVAL_MS = 100;
/** Of one object, as in client-go (tools/record/events_cache.go): reviews with ever new users could cause them. */
const MAX_WRITES_OF_OBJECT = 25;
const OBJECT_INTERVAL_MS = 5 * 60_000;
/** The API counts bytes (kubernetes, pkg/apis/core/validation/events.go). */
const MAX_NOTE_BYTES = 1_024;

/**
 * Writes Events (`events.k8s.io/v1`) in the background, one for each object, reason and variant in six minutes.
 * The name of an Event follows from these, so the API server rejects the second of two replicas. An Event that cannot
 * be written is logged and dropped.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #recent = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  readonly #writes = new Set<Promise<void>>();
  readonly #rate = new RateLimiter(MAX_WRITES_AT_ONCE, WRITE_INTERVAL_MS);
  readonly #rateOfObject = new RateLimiter(MAX_WRITES_OF_OBJECT, OBJECT_INTERVAL_MS);
  readonly #overflow: ThrottledLog;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#overflow = new ThrottledLog(options.log);
  }

  record(event: ClusterEvent): void {
    const now = Date.now();
    const name = `${this.#options.namePrefix}.${hashEvent(event, Math.floor(now / PERIOD_MS))}`;
    if (this.#recent.has(name)) return;
    const { kind, name: object, uid } = event.regarding;
    if (!this.#rateOfObject.tryAcquire(`${kind} ${object} ${uid}`) || !this.#rate.tryAcquire()) {
      this.#overflow.warn('too many Events; dropping new ones', {});
      return;
    }
    this.#recent.set(name, true);
    const writing = this.#write(name, now, event).finally(() => this.#writes.delete(writing));
    this.#writes.add(writing);
  }

  /** Resolves when all Events that wait were written or dropped. Never rejects. */
  async flush(): Promise<void> {
    await Promise.all(this.#writes);
  }

  async #write(name: string, now: number, { regarding, reason, action, note }: ClusterEvent): Promise<void> {
    const { api, log, controller } = this.#options;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: NAMESPACE },
      // Older API servers reject a `metav1.MicroTime` with three digits.
      eventTime: new Date(now).toISOString().replace('Z', '000Z'),
      type: 'Warning',
      reason,
      action,
      // A character that is cut in two becomes one of three bytes.
      note: Buffer.from(note).toString('utf8', 0, MAX_NOTE_BYTES - 2),
      reportingController: controller,
      reportingInstance: hostname().slice(0, 128),
      regarding,
    };
    try {
      await api.json({ method: 'POST', path: COLLECTION, body, purpose: EVENTS, signal: NEVER_ABORTED });
    } catch (error) {
      if (hasStatus(error, 409)) return;
      log.warn({ reason: describeError(error) }, 'cannot write an Event');
      this.#recent.delete(name);
    }
  }
}

function hashEvent({ regarding, reason, variant }: ClusterEvent, period: number): string {
  const { kind, uid, name } = regarding;
  const identity = JSON.stringify([kind, uid, name, reason, variant, period]);
  return createHash('sha256').update(identity).digest('hex').slice(0, 32);
}
