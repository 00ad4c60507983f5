import { expect, test } from 'vitest';
import { type PoolReferrer, type Referrer, toConfigName } from '../../src/decision/references.ts';
import { findHold } from '../../src/decision/hold.ts';

const OLD = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NEW = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'c'.repeat(32)}`);
const HOUR = 3_600_000;
/** In hours. */
const SECOND = 1 / 3_600;

/** A time in hours of the test. It is hour 10, and the hold is two hours. */
function at(hours: number): Date {
  return new Date(Date.UTC(2026, 10, 20) + Math.round(hours * HOUR));
}

interface PoolTimes {
  readonly spec?: number;
  readonly updated?: number;
  readonly status?: number;
}

/** A pool whose spec and status name NEW. Its times are in hours. */
function toPool({ spec, updated, status }: PoolTimes, extras: Partial<PoolReferrer> = {}): PoolReferrer {
  const [specChangedAt, updatedChangedAt, statusChangedAt] = [spec, updated, status].map((hour) => hour && at(hour));
  const references = ['spec', 'status'].map((field) => ({ field, config: NEW, strength: 'strong' }) as const);
  const times = { specChangedAt, updatedChangedAt, statusChangedAt } as Partial<PoolReferrer>;
  return { kind: 'MachineConfigPool', name: 'worker', references, ...times, ...extras };
}

/** A pool in a roll-out: its status still names another config. */
function toRollingPool(times: PoolTimes): PoolReferrer {
  const pool = toPool(times);
  return { ...pool, references: pool.references.with(1, { field: 'status', config: OTHER, strength: 'strong' }) };
}

function toNode(createdAtHours: number, name = 'fresh'): Referrer {
  const state = { type: 'unreported', createdAt: at(createdAtHours), labels: undefined } as const;
  return { kind: 'Node', name, references: [], state };
}

interface Situation {
  readonly name?: string;
  readonly ownerPool?: string;
  /** NaN if it is unknown. */
  readonly configCreatedAt?: number;
  /** Of other configs. */
  readonly createdAt?: Readonly<Record<string, number>>;
  /** What the guard remembers: when the pool last named the config, or since when it has not. */
  readonly named?: number;
  readonly watched?: number;
  readonly holdMs?: number;
}

/** Returns the cause, its time in hours, and the hours until the end of the hold. */
function hold(referrers: readonly Referrer[], situation: Situation = {}): string {
  const { name = OLD, configCreatedAt = 1, createdAt = {}, named, watched, holdMs = 2 * HOUR, ...owner } = situation;
  const config = {
    name: toConfigName(name),
    createdAt: Number.isNaN(configCreatedAt) ? undefined : at(configCreatedAt),
    ...owner,
  };
  const remembered = named ?? watched;
  const found = findHold(config, referrers, {
    holdMs,
    now: at(10),
    createdAt: (other) => (createdAt[other] === undefined ? undefined : at(createdAt[other])),
    findLastNaming: () => (remembered === undefined ? undefined : { at: at(remembered), isSeen: named !== undefined }),
  });
  if (found === undefined) return 'none';
  expect(found.pool).toBe(referrers[0]?.name);
  const toHours = (time: Date) => Math.round(((time.getTime() - at(0).getTime()) / HOUR) * 1e6) / 1e6;
  const [since, until] = [toHours(found.since), toHours(found.until)];
  if (found.node !== undefined) return `${found.node} to ${until}`;
  // The times of the API server have no fractions, so one second is added.
  expect(until).toBeCloseTo(since + SECOND + holdMs / HOUR, 5);
  return `${found.cause} ${since}`;
}

const QUIET = toPool({ spec: 1, updated: 2 });
const ONLY_SPEC = { references: toPool({}).references.slice(0, 1) };
const ROLLING = toRollingPool({ spec: 9, updated: 1 });
/** Its machine has just turned ready again. */
const RECENT = toPool({ spec: 1, updated: 9.5 });
const UNDATED = toPool({}, { references: [] });
const UNMANAGED = toRollingPool({ updated: 1 });

test.each<[string, string, PoolReferrer, Situation?]>([
  ['in a roll-out or paused, whose spec changed lately', 'PoolChanged 9', toRollingPool({ spec: 9, updated: 2 })],
  ['without machines, so its status moved silently', 'PoolChanged 9.75', toPool({ spec: 9, updated: 1, status: 9.75 })],
  ['that never had the condition Updated', 'PoolChanged 9', toPool({ spec: 9, status: 8 })],
  ['whose status names nothing, so it did not move', 'PoolChanged 9', toPool({ spec: 9, updated: 1 }, ONLY_SPEC)],
  ['that names no config and has no times: now', 'PoolUndated 10', UNDATED],
  ['whose status moved at an unknown time: now', 'PoolUndated 10', toPool({ spec: 9, updated: 1 })],
  [
    'without managedFields: the newest of its configs',
    'PoolChanged 9',
    UNMANAGED,
    { createdAt: { [NEW]: 9, [OTHER]: 2 } },
  ],
  ['without managedFields and with an unknown config: now', 'PoolUndated 10', UNMANAGED, { createdAt: { [NEW]: 2 } }],
  ['without managedFields and condition: the config', 'PoolChanged 9', toPool({}), { createdAt: { [NEW]: 9 } }],
  ['that is being deleted', 'none', toPool({ spec: 9 }, { references: [], isDeletedInForeground: true })],
  ['of another name', 'none', toPool({ spec: 9 }, { name: 'infra' })],
  [
    'that owns a config of another name',
    'PoolChanged 9',
    toRollingPool({ spec: 9 }),
    { name: 'x', ownerPool: 'worker' },
  ],
  ['that changed in the future', 'PoolChanged 10', toRollingPool({ spec: 11 })],
  ['whose Updated is in the future: its write', 'PoolChanged 9.5', toPool({ spec: 9, updated: 12, status: 9.5 })],
  ['whose Updated is in the future, and whose status is old', 'none', toPool({ spec: 1, updated: 12, status: 2 })],
  ['that the guard has watched for an hour', 'PoolWatched 9', RECENT, { watched: 9 }],
  ['without any time, which the guard has watched', 'PoolWatched 9', UNDATED, { watched: 9 }],
  ['that has long not named it, but the config is new', 'ConfigCreated 9', RECENT, { watched: 1, configCreatedAt: 9 }],
  ['that changed lately, with a config from the future', 'ConfigCreated 10', QUIET, { configCreatedAt: 11 }],
])('the hold of a config with a pool %s: %s', (_condition, expected, pool, situation) => {
  expect(hold([pool], situation)).toBe(expected);
});

test.each<[string, string, readonly Referrer[], number?, number?]>([
  ['that joined a second later', 'fresh to 10.000278', [QUIET, toNode(-14 + SECOND)]],
  ['that joined before the end of a longer hold', 'PoolChanged 9', [ROLLING, toNode(-13.1)]],
  ['and a pool that has long not named the config', 'fresh to 33', [RECENT, toNode(9)], -20, 1],
  ['that joined lately, with a config of unknown age', 'fresh to 33', [QUIET, toNode(9)], Number.NaN],
])('a node without currentConfig %s: %s', (_condition, expected, referrers, configCreatedAt = -20, watched) => {
  expect(hold(referrers, { configCreatedAt, ...(watched && { watched }) })).toBe(expected);
});
