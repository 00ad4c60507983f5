import { LRUCache } from 'lru-cache';
import type { ConfigName } from '../decision/references.ts';
import { LOOK_UP_TIMEOUT_MS } from '../decision/settings.ts';
import type { ConfigToDelete } from '../decision/verdict.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { getObject } from '../kube/api-object.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { Backoff, sleep, withTimeout } from '../common/wait.ts';
import { MACHINE_CONFIGS, type WatchedConfig } from './sources.ts';

export interface ConfigIndexOptions extends Pick<ReflectorOptions<WatchedConfig>, 'api' | 'log' | 'timing'> {
  /** For look-ups; the same as `api` by default. */
  readonly lookUpApi?: Pick<KubeApi, 'json'>;
}

/** Whether a config of this name and uid exists. The reason says why not, or why it is unknown. */
export type LookupResult =
  { readonly state: 'exists' } | { readonly state: 'missing' | 'unknown'; readonly reason: string };

/** Remembered deletions explain dangling references. */
const MAX_REMEMBERED_DELETIONS = 1_000;

/** The names and uids of all MachineConfigs from the watch, and the times of their deletions. */
export class ConfigIndex extends Reflector<WatchedConfig> {
  readonly #deletedAt: LRUCache<ConfigName, Date>;
  readonly #lookUpApi: Pick<KubeApi, 'json'>;

  constructor({ lookUpApi, ...options }: ConfigIndexOptions) {
    const deletedAt = new LRUCache<ConfigName, Date>({ max: MAX_REMEMBERED_DELETIONS });
    super({
      ...options,
      resource: MACHINE_CONFIGS,
      onChange: (before, after) => {
        if (before !== undefined && after === undefined) deletedAt.set(before.name, new Date());
      },
    });
    this.#deletedAt = deletedAt;
    this.#lookUpApi = lookUpApi ?? options.api;
  }

  has({ name, uid }: Pick<ConfigToDelete, 'name' | 'uid'>): boolean {
    return this.get(name)?.uid === uid;
  }

  names(): ReadonlySet<ConfigName> {
    return new Set([...this.objects()].map(({ name }) => name));
  }

  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }

  /** Looks up a config in the index, or else with a GET. Retries until the signal aborts. Never rejects. */
  async lookUp(config: Pick<ConfigToDelete, 'name' | 'uid'>, signal: AbortSignal): Promise<LookupResult> {
    const backoff = new Backoff(100, 1_000);
    let reason = 'no complete answer in time';
    if (this.isForbidden) return { state: 'unknown', reason: 'the guard may not read them' };
    while (!signal.aborted) {
      if (this.has(config)) return { state: 'exists' };
      try {
        // After this call, because the config may just have been created.
        const found = await withTimeout(LOOK_UP_TIMEOUT_MS, signal, (limited) =>
          getObject(this.#lookUpApi, MACHINE_CONFIGS, config.name, limited, 'lookUps'),
        );
        return found?.uid === config.uid
          ? { state: 'exists' }
          : { state: 'missing', reason: 'none has this name and uid' };
      } catch (error) {
        if (signal.aborted) break;
        reason = describeError(error);
        // Without a right the guard decides all the same. After other errors the next GET can succeed.
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) break;
        await sleep(backoff.next(), signal);
      }
    }
    return { state: 'unknown', reason };
  }
}
