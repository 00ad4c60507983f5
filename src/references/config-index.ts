import { LRUCache } from 'lru-cache';
import type { ConfigName } from '../decision/references.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { MACHINE_CONFIGS, type WatchedConfig } from './sources.ts';

export type ConfigIndexOptions = Pick<ReflectorOptions<WatchedConfig>, 'api' | 'log' | 'timing'>;

/** Remembered deletions explain dangling references. */
const MAX_REMEMBERED_DELETIONS = 1_000;

/** The names and uids of all MachineConfigs from the watch, and the times of their deletions. */
export class ConfigIndex extends Reflector<WatchedConfig> {
  readonly #deletedAt: LRUCache<ConfigName, Date>;

  constructor(options: ConfigIndexOptions) {
    const deletedAt = new LRUCache<ConfigName, Date>({ max: MAX_REMEMBERED_DELETIONS });
    super({
      ...options,
      resource: MACHINE_CONFIGS,
      onChange: (before, after) => {
        if (before !== undefined && after === undefined) deletedAt.set(before.name, new Date());
      },
    });
    this.#deletedAt = deletedAt;
  }

  has(name: ConfigName, uid: string): boolean {
    return this.get(name)?.uid === uid;
  }

  names(): ReadonlySet<ConfigName> {
    return new Set([...this.objects()].map(({ name }) => name));
  }

  /** Undefined if the watch reported no deletion of this config. */
  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }
}
