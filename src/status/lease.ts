import type { Logger } from 'pino';
import { leasesPath, objectPath } from '../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { describeError, hasStatus, orUndefined } from '../kube/errors.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { NEVER_ABORTED, sleep, withTimeout } from '../common/wait.ts';
import { LEASE_DURATION_MS, LEASE_RETRY_MS, LEASE_TIMEOUT_MS } from './lease-times.ts';

export interface LeaseOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly log: Logger;
  readonly onFailure: () => void;
}

/** The pod has 30 s to stop, and most of them are for open requests. */
export const RELEASE_TIMEOUT_MS = 3_000;

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: { readonly holderIdentity?: string | null };
}

/**
 * Elects one replica as the leader, which writes the status. A replica whose process was paused can be a second leader
 * for a moment. The resourceVersion in its write is then too old.
 *
 * As in client-go (tools/leaderelection), the Lease expires if this process sees no change of it for its
 * duration, because the times in the Lease come from other clocks.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #path: string;
  readonly #problem: ProblemLog;
  #validUntil = Number.NEGATIVE_INFINITY;
  #lastSeen: { readonly version: string | undefined; readonly at: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#path = objectPath(leasesPath(options.namespace), options.name);
    this.#problem = new ProblemLog(options.log);
  }

  get isHeld(): boolean {
    return performance.now() < this.#validUntil;
  }

  /** Acquires and renews the Lease until the signal aborts, then releases it. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#acquireOrRenew(signal);
        this.#problem.clear();
      } catch (error) {
        if (signal.aborted) break;
        // After a 409, another replica was faster.
        if (!hasStatus(error, 409)) {
          const reason = describeError(error);
          this.#problem.warn(`cannot acquire the status lease: ${reason}`, { reason });
          this.#options.onFailure();
        }
      }
      // Without a backoff, as in client-go: a longer pause would lose the Lease.
      await sleep(LEASE_RETRY_MS, signal);
    }
    // Otherwise the next leader would wait until the Lease expires.
    const release = async (limited: AbortSignal) => await this.#write(await this.#get(limited), '', limited);
    if (this.isHeld) await withTimeout(RELEASE_TIMEOUT_MS, NEVER_ABORTED, release).catch(() => {});
    this.#validUntil = Number.NEGATIVE_INFINITY;
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<void> {
    const { identity, log } = this.#options;
    const startedAt = performance.now();
    const lease = await this.#get(signal);
    const version = lease?.metadata.resourceVersion;
    if (this.#lastSeen === undefined || this.#lastSeen.version !== version) this.#lastSeen = { version, at: startedAt };
    const holder = lease?.spec?.holderIdentity ?? '';
    const isExpired = startedAt - this.#lastSeen.at > LEASE_DURATION_MS;
    if (holder !== '' && holder !== identity && !isExpired) {
      this.#validUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    const wasHeld = this.isHeld;
    await this.#write(lease, identity, signal);
    // Counted from before the write, so it ends before another replica can acquire the Lease.
    this.#validUntil = startedAt + LEASE_DURATION_MS;
    if (!wasHeld) log.info({ identity }, 'this replica is the leader and writes the status');
  }

  async #get(signal: AbortSignal): Promise<LeaseObject | undefined> {
    const lease = this.#options.api.json({ path: this.#path, timeoutMs: LEASE_TIMEOUT_MS, signal });
    return (await orUndefined(lease)) as LeaseObject | undefined;
  }

  /** Rejects with a 409 if another replica was faster. */
  async #write(lease: LeaseObject | undefined, holderIdentity: string, signal: AbortSignal): Promise<void> {
    const { api, name, namespace } = this.#options;
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const isTransition = lease?.spec?.holderIdentity !== holderIdentity;
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, resourceVersion: lease?.metadata.resourceVersion },
      spec: {
        holderIdentity,
        leaseDurationSeconds: Math.ceil(LEASE_DURATION_MS / 1000),
        renewTime: now,
        ...(isTransition ? { acquireTime: now } : {}),
      },
    };
    const request =
      lease === undefined
        ? ({ method: 'POST', path: leasesPath(namespace) } as const)
        : ({ method: 'PATCH', path: this.#path, contentType: MERGE_PATCH } as const);
    await api.json({ ...request, body, timeoutMs: LEASE_TIMEOUT_MS, signal });
  }
}
