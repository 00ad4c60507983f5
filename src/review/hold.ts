import type { PoolReferrer } from '../mco/referrer.ts';
import { type ConfigName, formatName, type HoldableConfig, parsePoolName } from '../mco/machine-config.ts';
import type { LastUse } from '../references/pool-history.ts';
import { ALLOW_DELETION_ANNOTATION } from '../api/annotations.ts';
import type { ClusterState } from '../references/cluster-state.ts';

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
const API_TIME_RESOLUTION_MS = 1_000;

/** What can hold a config. */
export type Holders = Pick<ClusterState, 'pools' | 'unreportedNodes'>;

/**
 * Returns the hold on a config, or undefined if there is none or it has ended (docs/internals/decisions/0010). The
 * caller has found no pool, node or unfinished build that references the config. A machine may be booting with it if
 * its pool named it lately, if its pool was about to name it, or if a node has not reported its config.
 * @param holders all of them, listed after the config became unused
 */
export function findHold(config: HoldableConfig, holders: Holders, options: HoldOptions): Hold | undefined {
  const { holdMs, now, createdAt, findLastUse } = options;
  const pool = findPool(config, holders);
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
  for (const { name: node, state } of holders.unreportedNodes) {
    const since = state.createdAt;
    if (since === undefined || !hasJoinedAfter(since, config)) continue;
    holds.push({ cause: 'NodeUnreported', since, until: plus(since, UNREPORTED_HOLD_MS), pool: pool.name, node });
  }
  const longest = holds.toSorted((a, b) => compareUntil(b, a))[0];
  return longest !== undefined && longest.until > now ? longest : undefined;
}

/** Returns the hold of each config that has one. */
export function findHolds(
  configs: readonly HoldableConfig[],
  holders: Holders,
  options: HoldOptions,
): ReadonlyMap<ConfigName, Hold> {
  const holds = new Map<ConfigName, Hold>();
  for (const config of configs) {
    const hold = findHold(config, holders, options);
    if (hold !== undefined) holds.set(config.name, hold);
  }
  return holds;
}

/** The pool in the name of the config, or else its owner. */
function findPool({ name, ownerPool }: HoldableConfig, { pools }: Holders): PoolReferrer | undefined {
  const poolName = parsePoolName(name) ?? ownerPool;
  return pools.find((pool) => pool.name === poolName && pool.isDeletedInForeground !== true);
}

/** Whether a node may be booting with the config, because it joined after it. */
function hasJoinedAfter(joinedAt: Date, { createdAt }: HoldableConfig): boolean {
  return createdAt === undefined || roundUp(joinedAt) > createdAt;
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

/** Explains a denial because of a hold. */
export function explainHeld(name: ConfigName, hold: Hold): string[] {
  return [
    `${formatName(name)} is held until ${formatTime(hold.until)}: ${explainHold(hold)}.`,
    `Delete it after that time, or give a reason in its annotation ${ALLOW_DELETION_ANNOTATION}.`,
  ];
}

/** Returns the cause of a hold as a part of a sentence. */
export function explainHold({ cause, since, pool, node = '' }: Hold): string {
  const time = formatTime(since);
  if (cause === 'NodeUnreported') {
    return `node ${formatName(node)}, which may be booting with it, has not reported its config`;
  }
  const poolName = `pool ${formatName(pool)}`;
  const sentences = {
    ConfigCreated: `it was created at ${time}`,
    PoolChanged: `${poolName} last changed at ${time}`,
    PoolNamed: `${poolName} last named it at ${time}`,
    PoolUndated: `nothing dates the last change of ${poolName}`,
    PoolWatched: `the guard has watched ${poolName} only since ${time}`,
  };
  return `${sentences[cause]}, and a machine may be booting with it`;
}

/** RFC 3339 in whole seconds, rounded up. */
export function formatTime(time: Date): string {
  return new Date(Math.ceil(time.getTime() / 1_000) * 1_000).toISOString().replace('.000Z', 'Z');
}
