import { type ConfigName, parsePoolName } from './config-name.ts';
import type { ConfigHistory, Referrer } from './references.ts';

/** Why and until when an unused config is held. */
export interface Hold {
  readonly since: Date;
  readonly until: Date;
  /**
   * `pool` named the config until `since`. `maybe-pool` names none now, but the guard did not watch the pool then.
   * `unreported-node` is a pool's config and a node that may be booting with it. `removed-node` can register again.
   */
  readonly cause:
    | { readonly kind: 'pool' | 'maybe-pool'; readonly pool: string }
    | { readonly kind: 'unreported-node'; readonly pool: string; readonly node: string }
    | { readonly kind: 'removed-node'; readonly node: string | undefined };
}

/** The longest hold because of nodes that have not reported a config. */
const UNREPORTED_HOLD_MS = 24 * 3_600_000;
/** Kubernetes cuts the fractions of its times. */
const API_TIME_RESOLUTION_MS = 1_000;

/**
 * Returns the longest hold of an unused config that has not ended (docs/adr/0010). No pool, node or unfinished build
 * references the config.
 *
 * @param referrers all referrers of the live read
 */
export function findHold(
  config: ConfigName,
  referrers: readonly Referrer[],
  history: ConfigHistory,
  holdMs: number,
  now: Date,
): Hold | undefined {
  if (holdMs <= 0) return undefined;
  const holds: Hold[] = [];
  const lastServable = findLastServable(config, referrers, history, now);
  if (lastServable !== undefined) {
    const { since, pool, isRemembered } = lastServable;
    holds.push({
      since,
      until: plus(since, holdMs),
      cause: { kind: isRemembered ? 'pool' : 'maybe-pool', pool },
    });
    const node = findUnreportedNode(referrers, history.createdAt(config));
    if (node !== undefined) {
      const cause = { kind: 'unreported-node', pool, node: node.name } as const;
      holds.push({ since, until: plus(since, UNREPORTED_HOLD_MS), cause });
    }
  }
  if (history.removedNode !== undefined) {
    const { name: node, at: since } = history.removedNode;
    holds.push({ since, until: plus(since, holdMs), cause: { kind: 'removed-node', node } });
  }
  const [longest] = holds.toSorted((a, b) => b.until.getTime() - a.until.getTime());
  return longest !== undefined && longest.until > now ? longest : undefined;
}

interface LastServable {
  readonly since: Date;
  readonly pool: string;
  /** False if the time is a bound, because the guard did not watch the pool. */
  readonly isRemembered: boolean;
}

function findLastServable(
  config: ConfigName,
  referrers: readonly Referrer[],
  { watchedSince, servable, createdAt }: ConfigHistory,
  now: Date,
): LastServable | undefined {
  const remembered =
    servable === undefined
      ? undefined
      : { since: servable.until ?? now, pool: servable.pool, isRemembered: true };
  // The memory since then is complete. Before, a pool can have named the config unseen.
  if (watchedSince === undefined || (remembered !== undefined && remembered.since >= watchedSince)) {
    return remembered;
  }
  const pool = referrers.find(
    ({ kind, name, isTerminating }) =>
      kind === 'MachineConfigPool' && isTerminating !== true && name === parsePoolName(config),
  );
  const configCreatedAt = createdAt(config);
  const isYounger = configCreatedAt !== undefined && configCreatedAt >= watchedSince;
  if (pool === undefined || isYounger) return remembered;
  const changedAt = findLastChange(pool, createdAt) ?? watchedSince;
  const bound = changedAt < watchedSince ? changedAt : watchedSince;
  if (remembered !== undefined && remembered.since >= bound) return remembered;
  return { since: bound, pool: pool.name, isRemembered: false };
}

/** The later of the creation of the pool's configs, and the last transition of its condition `Updated`. */
function findLastChange(
  { references, updatedChangedAt }: Referrer,
  createdAt: ConfigHistory['createdAt'],
): Date | undefined {
  const creations = references.map((reference) => createdAt(reference.config));
  const isRollingOut = new Set(references.map((reference) => reference.config)).size > 1;
  // The guard may not have listed the configs yet, and the pool can have moved to a new one during the roll-out.
  if (isRollingOut && creations.includes(undefined)) return undefined;
  const times = [updatedChangedAt, ...creations]
    .filter((time) => time !== undefined)
    .map((time) => time.getTime());
  return times.length === 0 ? undefined : new Date(Math.max(...times) + API_TIME_RESOLUTION_MS);
}

/** Finds a node that may be booting with a config: one that joined after the config could first be served. */
function findUnreportedNode(
  referrers: readonly Referrer[],
  configCreatedAt: Date | undefined,
): Referrer | undefined {
  return referrers.find(
    ({ isConfigUnreported, createdAt }) =>
      isConfigUnreported === true &&
      (createdAt === undefined ||
        configCreatedAt === undefined ||
        plus(createdAt, API_TIME_RESOLUTION_MS) > configCreatedAt),
  );
}

function plus(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
