import { isDeepStrictEqual } from 'node:util';
import { type Moment, readClocks } from '../common/wait.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { isPool, type PoolReferrer, type Referrer } from '../mco/referrer.ts';

/** The guard knows from its watch that the pool has not named the config since. */
export interface LastUse {
  readonly at: Date;
  /** False if the guard has not seen the pool name the config, but has watched it since. */
  readonly isSeen: boolean;
}

interface WatchedPool {
  /** The last version that the guard has seen. */
  readonly pool: PoolReferrer;
  /** The guard has seen every version since. */
  readonly watchedSince: Moment;
  /** When the pool ceased to name configs, the oldest first. */
  readonly lastUses: Map<ConfigName, Moment>;
}

/** Limits the memory. The operator renders fewer configs of a pool within the longest hold. */
const MAX_LAST_USES = 100;

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
    const watched = isKnown ? follow(last, after) : { pool: after, watchedSince: readClocks(), lastUses: new Map() };
    this.#pools.set(after.name, watched);
  }

  /** Undefined unless this is the version of the pool that the guard has seen last. */
  findLastUse(pool: PoolReferrer, config: ConfigName, now: Date): LastUse | undefined {
    const last = this.#pools.get(pool.name);
    if (last === undefined || pool.version === undefined || !isDeepStrictEqual(pool, last.pool)) return undefined;
    const lastUse = last.lastUses.get(config);
    const { ms, date } = lastUse ?? last.watchedSince;
    const at = new Date(now.getTime() - (performance.now() - ms));
    // The date is the same in every answer.
    return { at: date > at && date <= now ? date : at, isSeen: lastUse !== undefined };
  }
}

function follow({ pool: before, watchedSince, lastUses }: WatchedPool, pool: PoolReferrer): WatchedPool {
  const now = readClocks();
  for (const { config } of before.references) {
    lastUses.delete(config);
    lastUses.set(config, now);
  }
  let since = watchedSince;
  for (const [config, lastUse] of lastUses) {
    if (lastUses.size <= MAX_LAST_USES) break;
    // Without it, the guard only knows what happened afterwards.
    lastUses.delete(config);
    since = lastUse;
  }
  return { pool, watchedSince: since, lastUses };
}
