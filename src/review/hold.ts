import { isPool, isUnreportedNode, type PoolReferrer, type Referrer } from '../mco/referrer.ts';
import { type ConfigName, type HoldableConfig, parsePoolName } from '../mco/machine-config.ts';
import type { LastUse } from '../references/pool-history.ts';

export interface Hold {
  readonly cause: 'PoolChanged' | 'PoolNamed' | 'PoolWatched' | 'PoolUndated' | 'ConfigCreated' | 'NodeUnreported';
  readonly since: Date;
  readonly until: Date;
  readonly pool: string;
  readonly node?: string;
}

/** What a hold depends on, beside the config, its pool and the nodes. */
export interface UseHistory {
  readonly createdAt: (config: ConfigName) => Date | undefined;
  /** Undefined unless the guard has seen this version of the pool, and no later one. */
  readonly findLastUse?: (pool: PoolReferrer, config: ConfigName, now: Date) => LastUse | undefined;
}

export interface HoldOptions extends UseHistory {
  readonly holdMs: number;
  /** By the clock of the API server, which also dates the changes, except for the operator's conditions. */
  readonly now: Date;
}

const UNREPORTED_HOLD_MS = 24 * 3_600_000;
/** Kubernetes cuts the fractions of its times. */
export const API_TIME_RESOLUTION_MS = 1_000;

/**
 * Returns the hold on a config, or undefined if there is none or it has ended (docs/internals/decisions/0010). The
 * caller has found no pool, node or unfinished build that references the config. A machine may be booting with it if
 * its pool named it lately, if its pool was about to name it, or if a node has not reported its config.
 * @param referrers all referrers, listed after the config became unused
 */
export function findHold(
  config: HoldableConfig,
  referrers: readonly Referrer[],
  { holdMs, now, createdAt, findLastUse }: HoldOptions,
): Hold | undefined {
  const pool = findPool(config, referrers);
  if (pool === undefined || holdMs <= 0) return undefined;
  const toHold = (cause: Hold['cause'], time: Date): Hold => {
    // A later time comes from a wrong clock.
    const since = time < now ? time : now;
    return { cause, since, until: plus(roundUp(since), holdMs), pool: pool.name };
  };
  const changedAt = findLastChange(pool, createdAt);
  const lastUse = findLastUse?.(pool, config.name, now);
  const poolHolds: Hold[] = [];
  if (changedAt !== undefined) poolHolds.push(toHold('PoolChanged', changedAt));
  if (lastUse !== undefined) poolHolds.push(toHold(lastUse.isSeen ? 'PoolNamed' : 'PoolWatched', lastUse.at));
  // The pool has not named the config after any of these times, so the first hold to end is enough.
  const holds = [poolHolds.toSorted(compareUntil)[0] ?? toHold('PoolUndated', now)];
  // A pool names a new config only a moment after its creation.
  if (config.createdAt !== undefined) holds.push(toHold('ConfigCreated', config.createdAt));
  for (const { name: node, createdAt: since } of findBootingNodes(referrers, config.createdAt)) {
    holds.push({ cause: 'NodeUnreported', since, until: plus(since, UNREPORTED_HOLD_MS), pool: pool.name, node });
  }
  const longest = holds.toSorted((a, b) => compareUntil(b, a))[0];
  return longest !== undefined && longest.until > now ? longest : undefined;
}

export function findHolds(
  configs: readonly HoldableConfig[],
  referrers: readonly Referrer[],
  options: HoldOptions,
): ReadonlyMap<ConfigName, Hold> {
  // Other nodes hold nothing, and there can be thousands.
  const holders = referrers.filter((referrer) => isPool(referrer) || isUnreportedNode(referrer));
  const holds = configs.map((config) => [config.name, findHold(config, holders, options)] as const);
  return new Map(holds.flatMap(([name, hold]) => (hold === undefined ? [] : [[name, hold] as const])));
}

/** The pool in the name of the config, or else its owner. */
function findPool({ name, ownerPool }: HoldableConfig, referrers: readonly Referrer[]): PoolReferrer | undefined {
  const poolName = parsePoolName(name) ?? ownerPool;
  return referrers.filter(isPool).find((pool) => pool.name === poolName && pool.isDeletedInForeground !== true);
}

/**
 * Returns when the pool last ceased to name a config, in its spec or in its status. The operator writes
 * `status.configuration` in the same write that turns the condition `Updated` to True, or leaves it True
 * (machine-config-operator, pkg/controller/node/status.go).
 * @returns undefined if nothing in the pool dates it
 */
function findLastChange(
  { references, specChangedAt, statusChangedAt, ...pool }: PoolReferrer,
  createdAt: UseHistory['createdAt'],
): Date | undefined {
  const configs = references.map(({ config }) => config);
  // The operator dates the condition by its own clock, before the API server dates the write.
  const updatedChangedAt =
    statusChangedAt !== undefined && (pool.updatedChangedAt ?? statusChangedAt) > statusChangedAt
      ? statusChangedAt
      : pool.updatedChangedAt;
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
  if (hasMovedSilently) return statusChangedAt === undefined ? undefined : latest([specChangedAt, statusChangedAt]);
  return latest([specChangedAt, updatedChangedAt ?? specChangedAt]);
}

/** Finds the nodes that may be booting with a config, because they joined after it. */
function findBootingNodes(referrers: readonly Referrer[], configCreatedAt: Date | undefined) {
  return referrers.filter(isUnreportedNode).flatMap(({ name, state: { createdAt } }) => {
    const hasJoinedAfter =
      createdAt !== undefined && (configCreatedAt === undefined || roundUp(createdAt) > configCreatedAt);
    return hasJoinedAfter ? [{ name, createdAt }] : [];
  });
}

function compareUntil(a: Hold, b: Hold): number {
  return a.until.getTime() - b.until.getTime();
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
