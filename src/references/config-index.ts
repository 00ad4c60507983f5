import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import type { ConfigMetadata } from '../decision/references.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector, type ReflectorTiming } from '../kube/reflector.ts';
import { MACHINE_CONFIGS } from './sources.ts';

export interface ConfigIndexOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  readonly now?: () => Date;
}

/** Deletions that are remembered, to explain dangling references. */
const MAX_DELETIONS = 1_000;

/** The names of all MachineConfigs as the watch has delivered them, and when others were deleted. */
export class ConfigIndex {
  readonly #reflector: Reflector<ConfigMetadata>;
  readonly #deletedAt = new LRUCache<ConfigName, Date>({ max: MAX_DELETIONS });

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

  names(): ReadonlySet<ConfigName> {
    return new Set([...this.#reflector.objects()].map(({ name }) => name));
  }

  /** When the watch reported the deletion of a config; undefined if it did not. */
  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }
}
