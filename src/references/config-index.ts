import { LRUCache } from 'lru-cache';
import { Backoff, sleep, withTimeout } from '../common/wait.ts';
import type { KubeApi, Purpose } from '../kube/api.ts';
import { describeError, hasStatus } from '../kube/errors.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import type { ConfigName, WatchedConfig } from '../mco/machine-config.ts';
import { MACHINE_CONFIGS } from '../mco/resources.ts';
import { getObject } from '../kube/resource.ts';

/** Whether a config of this name and uid exists. The reason says why not, or why it is unknown. */
export type LookupResult =
  { readonly state: 'exists' } | { readonly state: 'missing' | 'unknown'; readonly reason: string };

/** Longer than the second of silence after which the API client closes its idle connections. */
export const LOOK_UP_TIMEOUT_MS = 2_000;
/** Made-up names of configs can cause them. */
const LOOK_UPS: Purpose = { name: 'look-ups', maxConnections: 8 };
/** Remembered deletions explain dangling references. */
const MAX_REMEMBERED_DELETIONS = 1_000;

/** The names and uids of all MachineConfigs from the watch, and the times of their deletions. */
export class ConfigIndex extends Reflector<WatchedConfig> {
  readonly #deletedAt: LRUCache<ConfigName, Date>;

  constructor(options: Pick<ReflectorOptions<WatchedConfig>, 'api' | 'log'>) {
    const deletedAt = new LRUCache<ConfigName, Date>({ max: MAX_REMEMBERED_DELETIONS });
    super({
      ...options,
      resource: MACHINE_CONFIGS,
      onChange: (before, after) => {
        if (before !== undefined && after === undefined) deletedAt.set(before.name, options.api.now());
      },
    });
    this.#deletedAt = deletedAt;
  }

  has({ name, uid }: Pick<WatchedConfig, 'name' | 'uid'>): boolean {
    return this.objects.get(name)?.uid === uid;
  }

  names(): ReadonlySet<ConfigName> {
    return new Set(this.objects.keys() as Iterable<ConfigName>);
  }

  createdAt(name: ConfigName): Date | undefined {
    return this.objects.get(name)?.createdAt;
  }

  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }

  /** Looks up a config in the index, or else with a GET. Retries until the signal aborts. Never rejects. */
  async lookUp(
    api: Pick<KubeApi, 'json'>,
    config: Pick<WatchedConfig, 'name' | 'uid'>,
    signal: AbortSignal,
  ): Promise<LookupResult> {
    const backoff = new Backoff(100, 1_000);
    let reason = 'no complete answer in time';
    if (this.isForbidden) return { state: 'unknown', reason: 'the guard may not read them' };
    while (!signal.aborted) {
      if (this.has(config)) return { state: 'exists' };
      try {
        // After this call, because the config may just have been created.
        const found = await withTimeout(LOOK_UP_TIMEOUT_MS, signal, (limited) =>
          getObject(api, MACHINE_CONFIGS, config.name, limited, LOOK_UPS),
        );
        return found?.uid === config.uid
          ? { state: 'exists' }
          : { state: 'missing', reason: 'none has this name and uid' };
      } catch (error) {
        if (signal.aborted) break;
        reason = describeError(error);
        // Without a right the guard decides all the same. After other errors the next GET can succeed.
        if (hasStatus(error, 401) || hasStatus(error, 403)) break;
        await sleep(backoff.next(), signal);
      }
    }
    return { state: 'unknown', reason };
  }
}
