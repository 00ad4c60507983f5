import type { Logger } from 'pino';
import { DEFAULT_SETTINGS, type FollowedSettings, type Mode, parseSettings, type Settings } from '../api/settings.ts';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError, hasStatus, isNotFound } from '../kube/errors.ts';
import { pollObject } from '../kube/poll-object.ts';
import { type Moment, readClocks } from '../common/wait.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { GUARD_NAME, GUARD_PATH, GUARDS_PATH } from '../api/paths.ts';
import { findCurrentSettings } from '../review/decide.ts';

export interface SettingsFollowerOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The spec of an object that the follower creates. */
  readonly initialSpec: Readonly<{ mode?: Mode | undefined; holdSuperseded?: string | undefined }>;
}

/** A change takes effect within two seconds. */
const INTERVAL_MS = 1_000;
const CREATE_INTERVAL_MS = 10_000;

/**
 * Reads the settings in the MachineConfigGuard `cluster` every second, and by default creates that object if absent.
 *
 * Without the object or its CRD the default settings apply. While it is unreadable the last known settings apply, but
 * after 15 s the mode counts as Enforce.
 */
export class SettingsFollower implements FollowedSettings {
  settings: Settings | undefined;
  readAt: Moment | undefined;
  /** As it was last read. Undefined before, and if it does not exist. */
  object: ApiObject | undefined;
  readonly #options: SettingsFollowerOptions;
  readonly #problem: ProblemLog;
  readonly #createProblem: ProblemLog;
  #createAt = 0;

  constructor(options: SettingsFollowerOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log, `machineconfigguard ${GUARD_NAME} is readable again`);
    this.#createProblem = new ProblemLog(options.log);
  }

  /** Reads the settings until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    const onRead = async (object: ApiObject | undefined): Promise<void> => {
      this.object = object;
      this.#apply(parseSettings(object));
      if (object === undefined) await this.#createIfDue(signal);
      else this.#createProblem.clear();
    };
    const onFailure = (error: unknown): void => {
      const { mode, outdatedMode } = findCurrentSettings(this);
      const verb = outdatedMode === undefined ? 'keeping' : 'using';
      const consequence = this.settings === undefined ? 'denying deletions until then' : `${verb} mode ${mode}`;
      this.#problem.warn(`cannot read machineconfigguard ${GUARD_NAME}: ${describeError(error)}; ${consequence}`);
    };
    const polled = { path: GUARD_PATH, kind: 'MachineConfigGuard', intervalMs: INTERVAL_MS };
    await pollObject({ api, ...polled, onRead, onFailure }, signal);
  }

  #apply(settings: Settings): void {
    const { mode, holdSupersededMs } = settings;
    const before = this.settings;
    if (mode !== before?.mode || holdSupersededMs !== before.holdSupersededMs) {
      this.#options.log.info({ mode, holdSupersededMs, before: before?.mode }, `mode is ${mode}`);
    }
    this.settings = settings;
    this.readAt = readClocks();
    this.#problem.clear();
  }

  /** A 409 means that another replica was faster. */
  async #createIfDue(signal: AbortSignal): Promise<void> {
    const { api, log, initialSpec } = this.#options;
    if (performance.now() < this.#createAt) return;
    this.#createAt = performance.now() + CREATE_INTERVAL_MS;
    const body = {
      apiVersion: 'machineconfig-guard.io/v1alpha1',
      kind: 'MachineConfigGuard',
      metadata: { name: GUARD_NAME },
      spec: initialSpec,
    };
    try {
      await api.json({ method: 'POST', path: GUARDS_PATH, body, signal });
      this.#createAt = 0;
      log.info(`machineconfigguard ${GUARD_NAME} created, because it did not exist`);
    } catch (error) {
      if (signal.aborted || hasStatus(error, 409)) return;
      const reason = describeError(error);
      const text = isNotFound(error)
        ? `this cluster does not serve machineconfigguards; using ${DEFAULT_SETTINGS.mode}`
        : `cannot create machineconfigguard ${GUARD_NAME}: ${reason}`;
      this.#createProblem.warn(text, { reason });
    }
  }
}
