import { type ConfigName, isPool, parsePoolName, type PoolReferrer, type Referrer } from './references.ts';
import type { HoldableConfig } from './verdict.ts';

/** Why and until when an unused config is held. */
export interface Hold {
  /** The last change of the pool, or the creation of the config. */
  readonly since: Date;
  readonly until: Date;
  readonly pool: string;
  /** The node that may be booting with the config. Undefined if the change of the pool holds it. */
  readonly node?: string;
}

export interface HoldOptions {
  readonly holdMs: number;
  /** By the clock of the API server, which also dates the changes, except for the operator's conditions. */
  readonly now: Date;
  /** Undefined if the creation time of a config is unknown. */
  readonly createdAt: (config: ConfigName) => Date | undefined;
}

/** The longest hold because of a node that has not reported a config. */
const UNREPORTED_HOLD_MS = 24 * 3_600_000;
/** Kubernetes cuts the fractions of its times. */
const API_TIME_RESOLUTION_MS = 1_000;

/**
 * Returns the hold on a config, or undefined if there is none or it has ended (docs/internals/decisions/0010). The
 * caller has found no pool, node or unfinished build that references the config. A machine may be booting with it if
 * its pool named it lately. The API server has recorded in the pool when the fields that name configs last changed, so
 * the hold needs no memory.
 *
 * @param referrers all referrers, listed after the config became unused
 */
export function findHold(
  config: HoldableConfig,
  referrers: readonly Referrer[],
  { holdMs, now, createdAt }: HoldOptions,
): Hold | undefined {
  if (holdMs <= 0) return undefined;
  const pool = findPool(config, referrers);
  if (pool === undefined) return undefined;
  const changedAt = findLastChange(pool, createdAt) ?? now;
  // A pool names a new config only a moment after its creation.
  const since = roundUp(latest([changedAt, config.createdAt ?? changedAt]));
  const hold: Hold = { since, until: plus(since, holdMs), pool: pool.name };
  // The youngest node holds the longest.
  const [youngest] = findUnreportedNodes(referrers, config.createdAt).toSorted((a, b) => +b.until - +a.until);
  const longest = youngest !== undefined && youngest.until > hold.until ? { ...hold, ...youngest } : hold;
  return longest.until > now ? longest : undefined;
}

/** The pool in the name of the config, or else its owner. */
function findPool({ name, ownerPool }: HoldableConfig, referrers: readonly Referrer[]): PoolReferrer | undefined {
  const poolName = parsePoolName(name) ?? ownerPool;
  return referrers.filter(isPool).find((pool) => pool.name === poolName && pool.isTerminating !== true);
}

/**
 * Returns when the pool last ceased to name a config, in its spec or in its status. The operator writes
 * `status.configuration` in the same write that turns the condition `Updated` to True, or leaves it True
 * (machine-config-operator, pkg/controller/node/status.go).
 *
 * @returns undefined if nothing in the pool dates it
 */
function findLastChange(
  { references, specChangedAt, statusChangedAt, updatedChangedAt }: PoolReferrer,
  createdAt: HoldOptions['createdAt'],
): Date | undefined {
  const configs = references.map(({ config }) => config);
  if (specChangedAt === undefined) {
    // Somebody has emptied managedFields.
    const creations = configs.map(createdAt);
    const times = [updatedChangedAt, ...creations].filter((time) => time !== undefined);
    return creations.includes(undefined) || times.length === 0 ? undefined : latest(times);
  }
  // Within the same second, either can be older.
  const isTransitionOlder = updatedChangedAt === undefined || updatedChangedAt <= specChangedAt;
  // Spec and status name the same config, but `Updated` has not changed since the spec did: the pool has no machines,
  // or was rolled back before the operator looked.
  const hasMovedSilently = isTransitionOlder && new Set(configs).size === 1 && configs.length > 1;
  if (hasMovedSilently) {
    return statusChangedAt === undefined ? undefined : latest([specChangedAt, statusChangedAt]);
  }
  return latest([specChangedAt, updatedChangedAt ?? specChangedAt]);
}

/** Finds the nodes that may be booting with a config, because they joined after it. */
function findUnreportedNodes(
  referrers: readonly Referrer[],
  configCreatedAt: Date | undefined,
): readonly Required<Pick<Hold, 'node' | 'until'>>[] {
  return referrers.flatMap((referrer) => {
    // Only a node without `currentConfig` has it.
    if (referrer.kind !== 'Node' || referrer.createdAt === undefined) return [];
    const hasJoinedAfter = configCreatedAt === undefined || roundUp(referrer.createdAt) > configCreatedAt;
    return hasJoinedAfter ? [{ node: referrer.name, until: plus(referrer.createdAt, UNREPORTED_HOLD_MS) }] : [];
  });
}

function latest(times: readonly Date[]): Date {
  return new Date(Math.max(...times.map((time) => time.getTime())));
}

function roundUp(time: Date): Date {
  return plus(time, API_TIME_RESOLUTION_MS);
}

function plus(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
