import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import {
  type ConfigName,
  isPool,
  isUnreportedNode,
  type PoolReferrer,
  type Referrer,
  REFERRER_KINDS,
} from '../mco/referrer.ts';
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { MACHINE_CONFIGS, REFERRER_RESOURCES, type WatchedConfig } from '../mco/parse-referrer.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import type { LastNaming } from '../review/hold.ts';
import { LOOK_UP_TIMEOUT_MS } from '../api/settings.ts';
import type { ConfigToDelete } from '../review/verdict.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { getObject } from '../kube/api-object.ts';
import { Backoff, sleep, withTimeout } from '../common/wait.ts';

export type ReferenceIndexOptions = Pick<ReflectorOptions<Referrer>, 'api' | 'log' | 'timing'>;

/** All references from the watches. They can be late, so the index never proves that a config is unused. */
export class ReferenceIndex {
  readonly pools = new PoolHistory();
  readonly reflectors: readonly Reflector<Referrer>[];
  readonly #byConfig = new ReferrersByConfig();

  constructor(options: ReferenceIndexOptions) {
    const onChange: ReflectorOptions<Referrer>['onChange'] = (before, after, origin) => {
      this.#byConfig.update(before, after);
      this.pools.update(before, after, origin);
    };
    this.reflectors = REFERRER_RESOURCES.map((resource) => new Reflector({ ...options, resource, onChange }));
  }

  get isSynced(): boolean {
    return this.reflectors.every((reflector) => reflector.isSynced);
  }

  /** The newest version that a watch or its list has delivered; undefined before the first list. */
  newestVersion(resource: string): string | undefined {
    return this.reflectors.find((reflector) => reflector.resource.name === resource)?.newestVersion;
  }

  *referrers(): Generator<Referrer> {
    for (const reflector of this.reflectors) yield* reflector.objects();
  }

  findReferrers(config: ConfigName): readonly Referrer[] {
    return this.#byConfig.find(config);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map(async (reflector) => await reflector.run(signal)));
  }
}

/** A changed referrer keeps its position, so that repeated denials name the same nodes. */
export class ReferrersByConfig {
  readonly #referrers = new Map<ConfigName, Map<string, Referrer>>();
  /** Pools, and nodes without `currentConfig`: the hold and the warnings of each config depend on them. */
  readonly #others = new Map<string, Referrer>();

  constructor(referrers: Iterable<Referrer> = []) {
    for (const referrer of referrers) this.update(undefined, referrer);
  }

  /** `before` is undefined for a new referrer, and `after` for a deleted one. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const { config } of before?.references ?? []) {
      if (before !== undefined && !namesConfig(after, config)) this.#remove(config, toKey(before));
    }
    if (before !== undefined && (after === undefined || !isNeededAlways(after))) this.#others.delete(toKey(before));
    if (after === undefined) return;
    const key = toKey(after);
    if (isNeededAlways(after)) this.#others.set(key, after);
    for (const { config } of after.references) {
      const referrers = this.#referrers.get(config) ?? new Map<string, Referrer>();
      this.#referrers.set(config, referrers.set(key, after));
    }
  }

  /** Returns all that a decision about a config depends on. Nodes come first, because one small GET confirms a node. */
  find(config: ConfigName): readonly Referrer[] {
    const named = [...(this.#referrers.get(config)?.values() ?? [])];
    const others = [...this.#others.values()].filter((referrer) => !namesConfig(referrer, config));
    const pools = [...this.#others.values()].filter(isPool);
    const managed = [...named, ...others].filter((referrer) => isManagedByOperator(referrer, pools));
    return REFERRER_KINDS.flatMap((kind) => managed.filter((referrer) => referrer.kind === kind));
  }

  #remove(config: ConfigName, key: string): void {
    const referrers = this.#referrers.get(config);
    referrers?.delete(key);
    if (referrers?.size === 0) this.#referrers.delete(config);
  }
}

function toKey({ kind, name }: Referrer): string {
  return `${kind}/${name}`;
}

function isNeededAlways(referrer: Referrer): boolean {
  return isPool(referrer) || isUnreportedNode(referrer);
}

function namesConfig(referrer: Referrer | undefined, config: ConfigName): boolean {
  return referrer?.references.some((reference) => reference.config === config) === true;
}

/** A time by the guard's own clocks. */
interface Moment {
  /** Of the monotonic clock. */
  readonly ms: number;
  /** The same in every answer, but wrong if the clock was. */
  readonly date: Date;
}

interface WatchedPool {
  /** The last version that the guard has seen. */
  readonly pool: PoolReferrer;
  /** The guard has seen every version since. */
  readonly watchedSince: Moment;
  /** When the pool ceased to name configs, the oldest first. */
  readonly namings: Map<ConfigName, Moment>;
}

/** Limits the memory. The operator renders fewer configs of a pool within the longest hold. */
const MAX_NAMINGS = 100;

/**
 * Remembers since when the guard has seen every version of each pool, and until when the pool named each config. So it
 * knows that a pool has not named a config since, although the pool has changed (docs/internals/decisions/0010).
 */
export class PoolHistory {
  readonly #pools = new Map<string, WatchedPool>();

  /** After a list, the guard knows the versions in between only if the pool is the last one that it has seen. */
  update(before: Referrer | undefined, after: Referrer | undefined, origin: 'list' | 'watch'): void {
    if (after === undefined) {
      if (before?.kind === 'MachineConfigPool') this.#pools.delete(before.name);
      return;
    }
    if (!isPool(after)) return;
    const last = this.#pools.get(after.name);
    const isKnown = last !== undefined && (origin === 'watch' || isDeepStrictEqual(after, last.pool));
    const watched = isKnown ? follow(last, after) : { pool: after, watchedSince: readClocks(), namings: new Map() };
    this.#pools.set(after.name, watched);
  }

  /** The last version of each pool, and since when the guard has seen all. */
  list(): { readonly name: string; readonly version: string; readonly since: Date }[] {
    return [...this.#pools].map(([name, { pool, watchedSince }]) => {
      return { name, version: pool.version ?? '', since: watchedSince.date };
    });
  }

  /** Undefined unless this is the version of the pool that the guard has seen last. */
  findLastNaming(pool: PoolReferrer, config: ConfigName, now: Date): LastNaming | undefined {
    const last = this.#pools.get(pool.name);
    if (last === undefined || pool.version === undefined || !isDeepStrictEqual(pool, last.pool)) return undefined;
    const naming = last.namings.get(config);
    const { ms, date } = naming ?? last.watchedSince;
    const at = new Date(now.getTime() - (performance.now() - ms));
    return { at: date > at && date <= now ? date : at, isSeen: naming !== undefined };
  }
}

function follow({ pool: before, watchedSince, namings }: WatchedPool, pool: PoolReferrer): WatchedPool {
  const now = readClocks();
  for (const { config } of before.references) {
    namings.delete(config);
    namings.set(config, now);
  }
  let since = watchedSince;
  for (const [config, naming] of namings) {
    if (namings.size <= MAX_NAMINGS) break;
    // Without it, the guard only knows what happened afterwards.
    namings.delete(config);
    since = naming;
  }
  return { pool, watchedSince: since, namings };
}

function readClocks(): Moment {
  return { ms: performance.now(), date: new Date() };
}

/** Whether a config of this name and uid exists. The reason says why not, or why it is unknown. */
export type LookupResult =
  { readonly state: 'exists' } | { readonly state: 'missing' | 'unknown'; readonly reason: string };

/** Remembered deletions explain dangling references. */
const MAX_REMEMBERED_DELETIONS = 1_000;

/** The names and uids of all MachineConfigs from the watch, and the times of their deletions. */
export class ConfigIndex extends Reflector<WatchedConfig> {
  readonly #deletedAt: LRUCache<ConfigName, Date>;

  constructor(options: Pick<ReflectorOptions<WatchedConfig>, 'api' | 'log' | 'timing'>) {
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
  async lookUp(
    api: Pick<KubeApi, 'json'>,
    config: Pick<ConfigToDelete, 'name' | 'uid'>,
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
          getObject(api, MACHINE_CONFIGS, config.name, limited, 'lookUps'),
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
