import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { NamedReference } from '../decision/references.ts';
import { ApiError, type KubeApi, describeError } from '../kube/api.ts';
import { sleep, withTimeout } from '../kube/wait.ts';

/** A condition as the guard knows it; the time of its last change is the API's to keep. */
export interface Condition {
  readonly type: 'Ready' | 'ReferencesConsistent' | 'CertificatesValid';
  readonly status: 'True' | 'False' | 'Unknown';
  /** One word in CamelCase, for programs. */
  readonly reason: string;
  readonly message: string;
}

/** What the status of the MachineConfigGuard is to say. */
export interface GuardStatus {
  readonly mode: string;
  readonly protectedConfigs: number;
  readonly danglingCount: number;
  readonly danglingReferences: readonly {
    readonly kind: string;
    readonly name: string;
    readonly field: string;
    readonly config: string;
    readonly since: string;
    readonly explanation: string;
    /** Empty where no name is near. */
    readonly suggestion: string;
  }[];
  readonly conditions: readonly Condition[];
}

/** A deletion that was denied. */
export interface LastDenial {
  readonly time: Date;
  readonly name: string;
  readonly user: string;
  readonly referrers: readonly NamedReference[];
}

/** What a {@link StatusWriter} needs. */
export interface StatusWriterOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** Is this the replica that writes? The last denial is written by the one that denied. */
  readonly isWriter: () => boolean;
  readonly status: () => GuardStatus;
  readonly everyMs?: number;
  /** At most so often is a denial written, in milliseconds. */
  readonly denialEveryMs?: number;
}

const PATH = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster';
const EVERY_MS = 1_000;
const DENIAL_EVERY_MS = 10_000;
const DENIAL_REFERRERS = 10;
const REQUEST_MS = 5_000;

interface StoredGuard {
  readonly metadata?: { readonly generation?: number };
  readonly status?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly StoredCondition[] };
}

type StoredCondition = Condition & { readonly lastTransitionTime: string; readonly observedGeneration?: number };

/**
 * Keeps the status of the MachineConfigGuard up to date: written when it differs from what is stored, by one replica. Nothing waits
 * for it, and a status that cannot be written is only said to the log, once.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  #denial: LastDenial | undefined;
  #denialWrittenAt = Number.NEGATIVE_INFINITY;
  #complaint = '';

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Remembers a denial; of several in a short time the last is written. */
  recordDenial(denial: LastDenial): void {
    this.#denial = denial;
  }

  /** Looks again and again until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.writeIfChanged(signal);
      await sleep(this.#options.everyMs ?? EVERY_MS, signal).catch(() => {});
    }
  }

  /** Looks once. */
  async writeIfChanged(signal: AbortSignal): Promise<void> {
    try {
      if (this.#options.isWriter()) await this.#write(signal);
      await this.#writeDenial(signal);
      this.#complaint = '';
    } catch (error) {
      // Absent: the settings see to that. The kind is not there: they have said so.
      if (signal.aborted || (error instanceof ApiError && error.status === 404)) return;
      const complaint = describeError(error);
      if (complaint !== this.#complaint)
        this.#options.log.warn({ reason: complaint }, `the status cannot be written: ${complaint}`);
      this.#complaint = complaint;
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const stored = (await this.#json({ path: PATH }, signal)) as StoredGuard;
    const observedGeneration = stored.metadata?.generation ?? 0;
    const { conditions, ...rest } = this.#options.status();
    const wanted = {
      ...rest,
      observedGeneration,
      conditions: conditions.map((condition) =>
        stamped(condition, observedGeneration, stored.status?.conditions ?? []),
      ),
    };
    const { lastDenial: _, ...present } = stored.status ?? {};
    if (!isDeepStrictEqual({ ...present }, JSON.parse(JSON.stringify(wanted)))) await this.#patch(wanted, signal);
  }

  async #writeDenial(signal: AbortSignal): Promise<void> {
    const denial = this.#denial;
    const now = performance.now();
    if (denial === undefined || now - this.#denialWrittenAt < (this.#options.denialEveryMs ?? DENIAL_EVERY_MS)) return;
    const { time, name, user, referrers } = denial;
    const lastDenial = {
      time: `${time.toISOString().slice(0, -5)}Z`,
      name,
      user,
      referrers: referrers
        .slice(0, DENIAL_REFERRERS)
        .map(({ kind, name: referrer, field }) => ({ kind, name: referrer, field })),
    };
    await this.#patch({ lastDenial }, signal);
    this.#denialWrittenAt = now;
    if (this.#denial === denial) this.#denial = undefined;
  }

  async #patch(status: object, signal: AbortSignal): Promise<void> {
    const contentType = 'application/merge-patch+json';
    await this.#json({ method: 'PATCH', path: `${PATH}/status`, contentType, body: { status } }, signal);
  }

  async #json(request: Omit<Parameters<KubeApi['json']>[0], 'signal'>, signal: AbortSignal): Promise<unknown> {
    return await withTimeout(
      REQUEST_MS,
      signal,
      async (limited) => await this.#options.api.json({ ...request, signal: limited }),
    );
  }
}

/** With the time at which its status last changed. */
function stamped(
  condition: Condition,
  observedGeneration: number,
  before: readonly StoredCondition[],
): StoredCondition {
  const same = before.find(({ type, status }) => type === condition.type && status === condition.status);
  const lastTransitionTime = same?.lastTransitionTime ?? `${new Date().toISOString().slice(0, -5)}Z`;
  return { ...condition, observedGeneration, lastTransitionTime };
}
