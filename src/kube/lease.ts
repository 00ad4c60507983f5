import type { Logger } from 'pino';
import { ApiError, type KubeApi, describeError } from './api.ts';
import { sleep, withTimeout } from './wait.ts';

/** How long a holder may be silent, and how often it says that it is there; milliseconds. */
export interface LeaseTiming {
  readonly durationMs: number;
  readonly retryMs: number;
}

/** What a {@link Lease} needs. */
export interface LeaseOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly namespace: string;
  readonly name: string;
  /** Who this is; no two replicas may have the same. */
  readonly identity: string;
  readonly log: Logger;
  readonly timing?: LeaseTiming;
}

/** OpenShift's values for leader election: an API server may be away for a minute during an upgrade (openshift/enhancements, CONVENTIONS.md). */
const OPENSHIFT_TIMING: LeaseTiming = { durationMs: 137_000, retryMs: 26_000 };
const REQUEST_MS = 10_000;

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

/**
 * Lets one replica at a time do something that need not be done twice. Nothing that protects a config depends on it: two holders for
 * a moment would write the same status twice.
 *
 * As client-go does it (tools/leaderelection), a holder counts as gone once its record has not changed for the duration, measured by
 * this process's own clock: the times in the record were written by other clocks.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #seen: { version: string | undefined; at: number } | undefined;
  #complaint = '';

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timing = options.timing ?? OPENSHIFT_TIMING;
  }

  /** Does this process hold it now? */
  get isHeld(): boolean {
    return performance.now() < this.#heldUntil;
  }

  /** Tries to get and to keep it until the signal aborts; then gives it back. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#complain(describeError(error));
      });
      await sleep(this.#timing.retryMs, signal).catch(() => {});
    }
    // The other one need not wait for it to run out.
    if (this.isHeld) await this.#write(undefined, '', new AbortController().signal).catch(() => {});
    this.#heldUntil = Number.NEGATIVE_INFINITY;
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    const lease = await this.#read(signal);
    const version = lease?.metadata.resourceVersion;
    if (this.#seen === undefined || this.#seen.version !== version) this.#seen = { version, at: begun };
    const holder = lease?.spec?.holderIdentity ?? '';
    const { identity } = this.#options;
    const gone = begun - this.#seen.at > this.#timing.durationMs;
    if (lease !== undefined && holder !== '' && holder !== identity && !gone) {
      this.#heldUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    const wasHeld = this.isHeld;
    await this.#write(lease, identity, signal);
    // Counted from before the write: the others count from after it.
    this.#heldUntil = begun + this.#timing.durationMs;
    this.#complain('');
    if (!wasHeld) this.#options.log.info({ identity }, 'this replica writes the status now');
  }

  async #read(signal: AbortSignal): Promise<LeaseObject | undefined> {
    try {
      return (await this.#json({ method: 'GET', path: this.#path }, signal)) as LeaseObject;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  /** Fails with 409 where somebody else was quicker. */
  async #write(lease: LeaseObject | undefined, holderIdentity: string, signal: AbortSignal): Promise<void> {
    const { name, namespace } = this.#options;
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const before = lease ?? (holderIdentity === '' ? await this.#read(signal) : undefined);
    const changed = before?.spec?.holderIdentity !== holderIdentity;
    const spec = {
      holderIdentity,
      leaseDurationSeconds: Math.ceil(this.#timing.durationMs / 1000),
      renewTime: now,
      ...(changed ? { acquireTime: now, leaseTransitions: (before?.spec?.leaseTransitions ?? 0) + 1 } : {}),
    };
    if (before === undefined) {
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
      await this.#json({ method: 'POST', path: this.#collection, body }, signal);
      return;
    }
    const body = { metadata: { resourceVersion: before.metadata.resourceVersion }, spec };
    await this.#json({ method: 'PATCH', path: this.#path, contentType: 'application/merge-patch+json', body }, signal);
  }

  async #json(request: Omit<Parameters<KubeApi['json']>[0], 'signal'>, signal: AbortSignal): Promise<unknown> {
    return await withTimeout(
      REQUEST_MS,
      signal,
      async (limited) => await this.#options.api.json({ ...request, signal: limited }),
    );
  }

  get #collection(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.#options.namespace)}/leases`;
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#options.name)}`;
  }

  /** Said once, for as long as it stays the same. */
  #complain(complaint: string): void {
    if (complaint !== '' && complaint !== this.#complaint) {
      this.#options.log.warn({ reason: complaint }, `the lease for writing the status cannot be had: ${complaint}`);
    }
    this.#complaint = complaint;
  }
}
