import { hash } from 'node:crypto';
import { pino } from 'pino';
import type { Referrer } from '../../src/decision/references.ts';
import { Judge } from '../../src/guard/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ConfigLookup } from '../../src/references/config-lookup.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { ReferenceIndex } from '../../src/references/reference-index.ts';
import { REFERRER_RESOURCES } from '../../src/references/sources.ts';
import { ControlledApi } from './controlled-api.ts';
import { CONFIG_A, LONG_AGO, type TwoConfigCluster } from './two-config-cluster.ts';
import { WatchApi } from './watch-api.ts';

/** What the judge and the reader see of the index. */
export type ObservedIndex = Pick<ReferenceIndex, 'findReferrers' | 'newestVersion' | 'checkVersions'> & {
  readonly referrers: () => readonly Referrer[];
};

/** The parts of a guard that differ from the real ones. */
export interface BrokenGuard {
  readonly createReader?: (api: KubeApi, index: ObservedIndex) => Pick<LiveReader, 'read'>;
  readonly wrapApi?: (api: KubeApi) => KubeApi;
}

const LOG = pino({ level: 'silent' });

/** The real judge, live reader, index and config lookup, and all that they see. */
export class ExploredGuard {
  readonly api: ControlledApi;
  readonly watches: WatchApi;
  readonly judge: Judge;
  /** The watches whose deliveries the guard has looked at since the scheduler cleared the set. */
  readonly reads = new Set<string>();
  readonly #index: ReferenceIndex;
  readonly #stopped = new AbortController();
  /** A digest of all that the guard has seen. The guard is deterministic, so nothing else determines what it does. */
  #seen = '';

  constructor(cluster: TwoConfigCluster, holdMs: number, broken: BrokenGuard) {
    this.watches = new WatchApi(cluster);
    this.api = new ControlledApi(cluster, this.observe.bind(this));
    this.#index = new ReferenceIndex({ api: this.watches as unknown as KubeApi, log: LOG });
    const realApi = this.api as unknown as KubeApi;
    const api = broken.wrapApi?.(realApi) ?? realApi;
    const index = this.#observeIndex();
    this.judge = new Judge({
      api,
      index,
      live: broken.createReader?.(api, index) ?? new LiveReader({ api, versions: index }),
      configs: new ConfigLookup(api, { has: (_name, uid) => uid === CONFIG_A.uid, isForbidden: false }),
      createdAt: () => LONG_AGO,
      settings: () => ({ mode: 'Enforce', holdSupersededMs: holdMs }),
      log: LOG,
    });
    void this.#index.run(this.#stopped.signal);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** What the guard does next depends only on it. */
  get state(): unknown {
    const calls = this.api.calls.map(({ name, answer }) => [name, answer]);
    return [this.#seen, [...this.#index.referrers()], this.watches.events, calls];
  }

  observe(event: string): void {
    this.#seen = hash('sha1', `${this.#seen}\n${event}`);
  }

  #observeIndex(): ObservedIndex {
    const note = <Result>(resources: readonly string[], result: Result): Result => {
      for (const resource of resources) this.reads.add(`watch of ${resource}`);
      this.observe(JSON.stringify([resources, result]));
      return result;
    };
    const all = REFERRER_RESOURCES.map(({ name }) => name);
    return {
      findReferrers: (config) => note(all, this.#index.findReferrers(config)),
      newestVersion: (resource) => note([resource], this.#index.newestVersion(resource)),
      checkVersions: () => {},
      referrers: () => note(all, [...this.#index.referrers()]),
    };
  }
}
