import type { Logger } from 'pino';
import {
  DEFAULT_SETTINGS,
  type Mode,
  type ParsedSettings,
  parseSettings,
  type Settings,
} from '../decision/settings.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { GUARD_NAME, GUARDS_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { ProblemLog } from '../kube/problem-log.ts';
import { Reflector, type ReflectorTiming, SINGLE_OBJECT_TIMING } from '../kube/reflector.ts';
import type { Resource } from '../kube/resource.ts';
import { sleep, withTimeout } from '../kube/wait.ts';
import { parseStoredConfigs, type StoredConfig } from '../references/servable-configs.ts';

export interface SettingsFollowerOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  /** Called with the configs in the status, again after each change. Undefined if the object or its CRD is absent. */
  readonly onStored?: (configs: readonly StoredConfig[] | undefined) => void;
  readonly timing?: ReflectorTiming;
  /** The spec of an object that the follower creates; empty by default. */
  readonly initialSpec?: Readonly<{ mode?: Mode | undefined; holdSuperseded?: string | undefined }>;
  /** Milliseconds between two attempts to create an absent object. */
  readonly createIntervalMs?: number;
}

type FollowedGuard = ParsedSettings & { readonly name: string; readonly stored?: readonly StoredConfig[] };

const GUARD_RESOURCE: Resource<FollowedGuard> = {
  kind: 'MachineConfigGuard',
  name: 'machineconfigguards',
  paths: [GUARDS_PATH],
  objectName: GUARD_NAME,
  isOptional: true,
  isMetadataOnly: false,
  parse: (object: ApiObject) => ({
    name: GUARD_NAME,
    ...parseSettings(object),
    stored: parseStoredConfigs(object.status),
  }),
};
const CREATE_INTERVAL_MS = 10_000;
const CHECK_INTERVAL_MS = 500;
const CREATE_TIMEOUT_MS = 5_000;

/**
 * Follows the settings in the MachineConfigGuard `cluster`, and creates that object if it is absent.
 *
 * Without the object or its CRD the default settings apply. While the API server is unreachable the last
 * known settings apply, else the defaults.
 */
export class SettingsFollower {
  readonly #options: SettingsFollowerOptions;
  readonly #reflector: Reflector<FollowedGuard>;
  readonly #problem: ProblemLog;
  readonly #createProblem: ProblemLog;
  #settings = DEFAULT_SETTINGS;

  constructor(options: SettingsFollowerOptions) {
    const { api, log, timing = SINGLE_OBJECT_TIMING, onStored } = options;
    this.#options = options;
    this.#problem = new ProblemLog(log, `machineconfigguard ${GUARD_NAME} is readable again`);
    this.#createProblem = new ProblemLog(log);
    this.#reflector = new Reflector({
      api,
      log,
      resource: GUARD_RESOURCE,
      timing,
      onChange: (_before, after) => {
        this.#apply(after ?? { settings: DEFAULT_SETTINGS, problems: [] });
        onStored?.(after?.stored);
      },
      onListEnd: () => {
        if ([...this.#reflector.objects()].length === 0) onStored?.(undefined);
      },
    });
  }

  get settings(): Settings {
    return this.#settings;
  }

  /** Follows the object until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#reflector.run(signal), this.#createIfAbsent(signal)]);
  }

  #apply({ settings, problems }: ParsedSettings): void {
    const { mode, holdSupersededMs } = settings;
    if (mode !== this.#settings.mode || holdSupersededMs !== this.#settings.holdSupersededMs) {
      this.#options.log.info({ mode, holdSupersededMs, before: this.#settings.mode }, `mode is ${mode}`);
    }
    this.#settings = settings;
    if (problems.length === 0) this.#problem.clear();
    else this.#problem.warn(`machineconfigguard ${GUARD_NAME}: ${problems.join('; ')}`);
  }

  async #createIfAbsent(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isListed = this.#reflector.isSynced;
      if (isListed && !this.#reflector.isServed) {
        this.#problem.warn(`this cluster does not serve machineconfigguards; using ${DEFAULT_SETTINGS.mode}`);
      }
      const isAbsent = isListed && this.#reflector.isServed && [...this.#reflector.objects()].length === 0;
      if (isAbsent) {
        this.#problem.clear();
        await this.#create(signal);
      }
      const pauseMs = isAbsent ? (this.#options.createIntervalMs ?? CREATE_INTERVAL_MS) : CHECK_INTERVAL_MS;
      await sleep(pauseMs, signal);
    }
  }

  /** A 409 means that another replica was faster. */
  async #create(signal: AbortSignal): Promise<void> {
    const { api, log, initialSpec = {} } = this.#options;
    const body = {
      apiVersion: 'machineconfig-guard.io/v1alpha1',
      kind: 'MachineConfigGuard',
      metadata: { name: GUARD_NAME },
      spec: initialSpec,
    };
    try {
      await withTimeout(CREATE_TIMEOUT_MS, signal, async (limited) => {
        await api.json({ method: 'POST', path: GUARDS_PATH, body, signal: limited });
      });
      this.#createProblem.clear();
      log.info(`machineconfigguard ${GUARD_NAME} created, because it did not exist`);
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.status === 409)) return;
      const reason = describeError(error);
      this.#createProblem.warn(`cannot create machineconfigguard ${GUARD_NAME}: ${reason}`, { reason });
    }
  }
}
