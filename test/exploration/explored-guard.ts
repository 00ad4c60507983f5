import { hash } from 'node:crypto';
import { pino } from 'pino';
import type { KubeApi } from '../../src/kube/api.ts';
import type { PoolHistory } from '../../src/references/pool-history.ts';
import { ControlledApi } from './controlled-api.ts';
import { CONFIG_A, type TwoConfigCluster } from './two-config-cluster.ts';
import { WatchApi } from './watch-api.ts';
import { createJudge } from '../../src/guard/create-judge.ts';
import { BUILDS, POOLS, REFERRER_RESOURCES } from '../../src/mco/resources.ts';

export type GuardParts = ReturnType<typeof createJudge>;

/** Makes a guard differ from the real one. */
export type BrokenGuard = (parts: GuardParts, api: KubeApi) => void;

const LOG = pino({ level: 'silent' });

/** One replica: the parts that decide, connected as in production, and all that they see. */
export class ExploredGuard {
  readonly api: ControlledApi;
  readonly watches: WatchApi;
  readonly judge: GuardParts['judge'];
  /** The watches whose deliveries the guard has looked at since the scheduler cleared the set. */
  readonly reads = new Set<string>();
  /** Since when the guard has received every version of the pools. */
  seesPoolsSince = Date.now();
  readonly #parts: GuardParts;
  readonly #stopped = new AbortController();
  readonly #findLastUse: PoolHistory['findLastUse'];
  readonly #listPools: GuardParts['index']['listPools'];
  /** A digest of all that the guard has seen. The guard is deterministic, so nothing else determines what it does. */
  #seen = '';

  /** Of the names of its calls and watches. */
  readonly suffix: string;

  constructor(cluster: TwoConfigCluster, holdMs: number, broken: BrokenGuard | undefined, suffix: string) {
    this.suffix = suffix;
    this.watches = new WatchApi(cluster);
    this.api = new ControlledApi(cluster, this.observe.bind(this), suffix);
    const api = this.api as unknown as KubeApi;
    this.#parts = createJudge({
      api,
      watchApi: this.watches as unknown as KubeApi,
      settings: { settings: { mode: 'Enforce', holdSupersededMs: holdMs } },
      log: LOG,
    });
    this.judge = this.#parts.judge;
    const { index } = this.#parts;
    this.#findLastUse = index.pools.findLastUse.bind(index.pools);
    this.#listPools = index.listPools.bind(index);
    this.#observeIndex();
    broken?.(this.#parts, api);
    const { signal } = this.#stopped;
    void this.#parts.index.run(signal);
    void this.#parts.configs.run(signal);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** What the guard does next depends only on it. */
  get state(): unknown {
    const { index } = this.#parts;
    const referrers = [...index.byConfig].map(([config, each]) => [config, each.summarize()]);
    const memory = this.#listPools().map((pool) => [pool, this.#findLastUse(pool, CONFIG_A.name, new Date())]);
    const calls = this.api.calls.map(({ name, answer }) => [name, answer]);
    return [this.#seen, referrers, memory, this.seesPoolsSince, this.watches.events, calls];
  }

  nameWatch(resource: string): string {
    return `watch of ${resource}${this.suffix}`;
  }

  observe(event: string): void {
    this.#seen = hash('sha1', `${this.#seen}\n${event}`);
  }

  /** Notes what the guard learns from its watches. */
  #observeIndex(): void {
    const { index } = this.#parts;
    const all = REFERRER_RESOURCES.map(({ name }) => name);
    const note = <Result>(resources: readonly string[], result: Result): Result => {
      for (const resource of resources) this.reads.add(this.nameWatch(resource));
      this.observe(JSON.stringify([resources, result]));
      return result;
    };
    const newestVersion = index.newestVersion.bind(index);
    const formatPoolsAndBuilds = index.formatPoolsAndBuilds.bind(index);
    const find = index.find.bind(index);
    index.find = (config) => {
      const referrers = find(config);
      note(all, referrers?.summarize());
      return referrers;
    };
    index.listPools = () => note([POOLS.name], this.#listPools());
    index.formatPoolsAndBuilds = () => note([POOLS.name, BUILDS.name], formatPoolsAndBuilds());
    index.newestVersion = (resource) => note([resource], newestVersion(resource));
    const findLastUse: PoolHistory['findLastUse'] = (...args) => note([POOLS.name], this.#findLastUse(...args));
    Object.assign(this.#parts.history, { findLastUse });
  }
}
