import type { Logger } from 'pino';
import { leasesPath, objectPath } from '../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { sleep, withTimeout } from '../common/wait.ts';

export interface LeaseTiming {
  /** How long the Lease is valid without a renewal, in milliseconds. */
  readonly durationMs: number;
  /** Milliseconds between two attempts to acquire or renew it. */
  readonly retryMs: number;
}

export interface LeaseOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique for each replica. */
  readonly identity: string;
  readonly log: Logger;
  readonly timing?: LeaseTiming;
}

/**
 * OpenShift's values tolerate an API server that is unreachable for a minute (openshift/enhancements,
 * CONVENTIONS.md).
 */
const OPENSHIFT_TIMING: LeaseTiming = { durationMs: 137_000, retryMs: 26_000 };
const REQUEST_TIMEOUT_MS = 10_000;

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: { readonly holderIdentity?: string | null; readonly leaseTransitions?: number | null };
}

/**
 * Elects one replica as the leader. Two leaders would only write the same status twice.
 *
 * As in client-go (tools/leaderelection), the Lease expires if this process sees no change of it for its
 * duration, because the times in the Lease come from other clocks.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  readonly #problem: ProblemLog;
  #validUntil = Number.NEGATIVE_INFINITY;
  #lastSeen: { readonly version: string | undefined; readonly at: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timing = options.timing ?? OPENSHIFT_TIMING;
    this.#problem = new ProblemLog(options.log);
  }

  get isHeld(): boolean {
    return performance.now() < this.#validUntil;
  }

  /** Acquires and renews the Lease until the signal aborts, then releases it. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#acquireOrRenew(signal).catch((error: unknown) => {
        if (signal.aborted) return;
        const reason = describeError(error);
        this.#problem.warn(`cannot acquire the status lease: ${reason}`, { reason });
      });
      await sleep(this.#timing.retryMs, signal);
    }
    if (this.isHeld) await this.#release().catch(() => {});
    this.#validUntil = Number.NEGATIVE_INFINITY;
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<void> {
    const { identity, log } = this.#options;
    const startedAt = performance.now();
    const lease = await this.#get(signal);
    const version = lease?.metadata.resourceVersion;
    if (this.#lastSeen === undefined || this.#lastSeen.version !== version) this.#lastSeen = { version, at: startedAt };
    const holder = lease?.spec?.holderIdentity ?? '';
    const isExpired = startedAt - this.#lastSeen.at > this.#timing.durationMs;
    if (holder !== '' && holder !== identity && !isExpired) {
      this.#validUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    const wasHeld = this.isHeld;
    await this.#write(lease, identity, signal);
    // Counted from before the write, so it ends before another replica can acquire the Lease.
    this.#validUntil = startedAt + this.#timing.durationMs;
    this.#problem.clear();
    if (!wasHeld) log.info({ identity }, 'this replica is the leader and writes the status');
  }

  /** Without it the next leader would wait until the Lease expires. */
  async #release(): Promise<void> {
    const { signal } = new AbortController();
    await this.#write(await this.#get(signal), '', signal);
  }

  async #get(signal: AbortSignal): Promise<LeaseObject | undefined> {
    try {
      return (await this.#json({ path: this.#path }, signal)) as LeaseObject;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  /** Rejects with a 409 if another replica was faster. */
  async #write(lease: LeaseObject | undefined, holderIdentity: string, signal: AbortSignal): Promise<void> {
    const { name, namespace } = this.#options;
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const isTransition = lease?.spec?.holderIdentity !== holderIdentity;
    // The API has 32 bits.
    const leaseTransitions = ((lease?.spec?.leaseTransitions ?? 0) + 1) % 2 ** 31;
    const spec = {
      holderIdentity,
      leaseDurationSeconds: Math.ceil(this.#timing.durationMs / 1000),
      renewTime: now,
      ...(isTransition ? { acquireTime: now, leaseTransitions } : {}),
    };
    if (lease === undefined) {
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
      await this.#json({ method: 'POST', path: this.#collection, body }, signal);
      return;
    }
    const body = { metadata: { resourceVersion: lease.metadata.resourceVersion }, spec };
    await this.#json({ method: 'PATCH', path: this.#path, contentType: MERGE_PATCH, body }, signal);
  }

  async #json(request: Omit<Parameters<KubeApi['json']>[0], 'signal'>, signal: AbortSignal): Promise<unknown> {
    const { api } = this.#options;
    return await withTimeout(REQUEST_TIMEOUT_MS, signal, (limited) => api.json({ ...request, signal: limited }));
  }

  get #collection(): string {
    return leasesPath(this.#options.namespace);
  }

  get #path(): string {
    return objectPath(this.#collection, this.#options.name);
  }
}
