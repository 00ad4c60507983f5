import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector, type ReflectorTiming } from '../kube/reflector.ts';
import { MACHINE_CONFIGS, type WatchedConfig } from './sources.ts';

export interface ConfigIndexOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  readonly now?: () => Date;
}

/** Remembered deletions explain dangling references. */
const MAX_REMEMBERED_DELETIONS = 1_000;

/** The names and uids of all MachineConfigs from the watch, and the times of their deletions. */
export class ConfigIndex {
  readonly #reflector: Reflector<WatchedConfig>;
  readonly #deletedAt = new LRUCache<ConfigName, Date>({ max: MAX_REMEMBERED_DELETIONS });

  constructor({ api, log, timing, now = () => new Date() }: ConfigIndexOptions) {
    this.#reflector = new Reflector({
      api,
      resource: MACHINE_CONFIGS,
      log,
      timing,
      onChange: (before, after) => {
        if (before !== undefined && after === undefined) this.#deletedAt.set(before.name, now());
      },
    });
  }

  get isSynced(): boolean {
    return this.#reflector.isSynced;
  }

  /** Whether the guard has no right to read MachineConfigs. The installation can leave it out (docs/install.md). */
  get isForbidden(): boolean {
    return this.#reflector.isForbidden;
  }

  has(name: ConfigName, uid: string): boolean {
    return this.#reflector.get(name)?.uid === uid;
  }

  /** Undefined if the watch has not reported the config. */
  createdAt(name: ConfigName): Date | undefined {
    return this.#reflector.get(name)?.createdAt;
  }

  /** As {@link Reflector.newestVersion}. */
  get newestVersion(): string | undefined {
    return this.#reflector.newestVersion;
  }

  /** As {@link Reflector.checkVersion}. */
  checkVersion(): void {
    this.#reflector.checkVersion();
  }

  names(): ReadonlySet<ConfigName> {
    return new Set([...this.#reflector.objects()].map(({ name }) => name));
  }

  /** Undefined if the watch reported no deletion of this config. */
  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }
}
