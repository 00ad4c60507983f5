import PQueue from 'p-queue';
import { LOOK_UP_TIMEOUT_MS } from '../decision/deadline.ts';
import type { ConfigToDelete } from '../decision/verdict.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { getObject } from '../kube/get-object.ts';
import { Backoff, sleep, waitOrAbort, withTimeout } from '../common/wait.ts';
import type { ConfigIndex } from './config-index.ts';
import { MACHINE_CONFIGS } from './sources.ts';

/** Whether a config of this name and uid exists. The reason says why not, or why it is unknown. */
export type LookupResult =
  { readonly state: 'exists' } | { readonly state: 'missing' | 'unknown'; readonly reason: string };

const MISSING: LookupResult = { state: 'missing', reason: 'none has this name and uid' };

/** Made-up names must not keep the API server busy. */
const MAX_CONCURRENT_GETS = 8;

/** Finds out whether a config of this name and uid exists: in the index, else with a GET. */
export class ConfigLookup {
  readonly #api: Pick<KubeApi, 'json'>;
  readonly #index: Pick<ConfigIndex, 'has' | 'isForbidden'>;
  readonly #queue = new PQueue({ concurrency: MAX_CONCURRENT_GETS });

  constructor(api: Pick<KubeApi, 'json'>, index: Pick<ConfigIndex, 'has' | 'isForbidden'>) {
    this.#api = api;
    this.#index = index;
  }

  isIndexed({ name, uid }: ConfigToDelete): boolean {
    return this.#index.has(name, uid);
  }

  /** Retries until the signal aborts. Never rejects. */
  async find(config: ConfigToDelete, signal: AbortSignal): Promise<LookupResult> {
    const backoff = new Backoff(100, 1_000);
    let reason = 'no complete answer in time';
    if (this.#index.isForbidden) return { state: 'unknown', reason: 'the guard may not read them' };
    while (!signal.aborted) {
      if (this.isIndexed(config)) return { state: 'exists' };
      try {
        return (await this.#exists(config, signal)) ? { state: 'exists' } : MISSING;
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

  /** Sends a GET after this call, because the config may just have been created. */
  async #exists({ name, uid }: ConfigToDelete, signal: AbortSignal): Promise<boolean> {
    const get = async () =>
      await withTimeout(LOOK_UP_TIMEOUT_MS, signal, (limited) => getObject(this.#api, MACHINE_CONFIGS, name, limited));
    const config = await waitOrAbort(this.#queue.add(get), signal);
    return config?.uid === uid;
  }
}
