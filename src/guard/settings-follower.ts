import type { Logger } from 'pino';
import { parseSettings, DEFAULT_SETTINGS, type Settings } from '../decision/settings.ts';
import { ApiError, type KubeApi, describeError } from '../kube/api.ts';
import { isServed } from '../kube/discovery.ts';
import { sleep, withTimeout } from '../kube/wait.ts';

/** What {@link SettingsFollower} needs. */
export interface SettingsFollowerOptions {
  readonly api: Pick<KubeApi, 'json' | 'request'>;
  readonly log: Logger;
  /** How often to look, in milliseconds. */
  readonly pollMs?: number;
  /** How long to wait before an absent object is made once more, in milliseconds. */
  readonly createEveryMs?: number;
}

const COLLECTION = '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards';
const NAME = 'cluster';
/** A change works within two seconds. One small GET by name costs the API server nothing, and cannot die silently as a watch can. */
const POLL_MS = 1_000;
const CREATE_EVERY_MS = 10_000;
const REQUEST_MS = 5_000;

/**
 * How the guard is to decide, from the MachineConfigGuard `cluster`.
 *
 * Where the object or its kind is absent, the default holds. Where it cannot be read, the last that was known holds, and the
 * default where none ever was: an outage of the API server neither switches a guard off nor on. Decisions never wait for it.
 */
export class SettingsFollower {
  readonly #api: Pick<KubeApi, 'json' | 'request'>;
  readonly #log: Logger;
  readonly #pollMs: number;
  readonly #createEveryMs: number;
  #policy = DEFAULT_SETTINGS;
  #said = '';
  #createdAt = Number.NEGATIVE_INFINITY;
  #createComplaint = '';

  constructor({ api, log, pollMs = POLL_MS, createEveryMs = CREATE_EVERY_MS }: SettingsFollowerOptions) {
    this.#api = api;
    this.#log = log;
    this.#pollMs = pollMs;
    this.#createEveryMs = createEveryMs;
  }

  /** What holds now. */
  get settings(): Settings {
    return this.#policy;
  }

  /** Looks again and again until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal);
      await sleep(this.#pollMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      const object = await this.#json(`${COLLECTION}/${NAME}`, signal);
      const { settings, problems } = parseSettings(object);
      this.#use(settings, problems.length === 0 ? '' : `machineconfigguard ${NAME}: ${problems.join('; ')}`);
    } catch (error) {
      if (signal.aborted) return;
      await this.#withoutObject(error, signal).catch((failure: unknown) => {
        if (!signal.aborted)
          this.#say(`machineconfigguard ${NAME} cannot be read, ${this.#policy.mode} stays: ${describeError(failure)}`);
      });
    }
  }

  /** Absent is something else than unreadable. A bare 404 says nothing: a proxy that has lost its way answers the same. */
  async #withoutObject(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    if (error.reason === 'NotFound') {
      this.#use(DEFAULT_SETTINGS, '');
      await this.#create(signal);
      return;
    }
    const served = await withTimeout(
      REQUEST_MS,
      signal,
      async (limited) => await isServed(this.#api, COLLECTION, limited),
    );
    if (served) throw error;
    this.#use(DEFAULT_SETTINGS, `machineconfigguards are not served by this cluster: ${DEFAULT_SETTINGS.mode} holds`);
  }

  /** So that there is something to set a mode in, and to show. Two replicas may both try; one of them is told that it exists. */
  async #create(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#createdAt < this.#createEveryMs) return;
    this.#createdAt = now;
    const body = {
      apiVersion: 'machineconfig-guard.io/v1alpha1',
      kind: 'MachineConfigGuard',
      metadata: { name: NAME },
      spec: {},
    };
    try {
      await withTimeout(REQUEST_MS, signal, async (limited) => {
        const response = await this.#api.request({ method: 'POST', path: COLLECTION, body, signal: limited });
        response.body.resume();
      });
      this.#createComplaint = '';
      this.#log.info(`machineconfigguard ${NAME} created: there was none`);
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.status === 409)) return;
      const complaint = describeError(error);
      if (complaint !== this.#createComplaint)
        this.#log.warn({ reason: complaint }, `machineconfigguard ${NAME} cannot be created: ${complaint}`);
      this.#createComplaint = complaint;
    }
  }

  async #json(path: string, signal: AbortSignal): Promise<unknown> {
    return await withTimeout(REQUEST_MS, signal, async (limited) => await this.#api.json({ path, signal: limited }));
  }

  #use(policy: Settings, complaint: string): void {
    const { mode, holdSupersededMs } = policy;
    if (mode !== this.#policy.mode || holdSupersededMs !== this.#policy.holdSupersededMs) {
      this.#log.info({ mode, holdSupersededMs, before: this.#policy.mode }, `mode is ${mode}`);
    }
    this.#policy = policy;
    this.#say(complaint);
  }

  /** Says what is wrong once, for as long as it stays the same, and once that it is over. */
  #say(complaint: string): void {
    if (complaint === this.#said) return;
    if (complaint === '') this.#log.info(`machineconfigguard ${NAME} is followed`);
    else this.#log.warn(complaint);
    this.#said = complaint;
  }
}
