import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { findHold } from '../../src/decision/hold.ts';
import type { ConfigHistory, Referrer } from '../../src/decision/references.ts';

const OLD = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NEW = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'c'.repeat(32)}`);
const H = 3_600_000;

/** A time in hours of the test. */
function at(hours: number): Date {
  return new Date(Date.UTC(2026, 10, 20) + hours * H);
}

function toPool(name: string, extras: Partial<Referrer> = {}): Referrer {
  const references = [{ field: 'spec', config: NEW, strength: 'strong' } as const];
  return { kind: 'MachineConfigPool', name, references, ...extras };
}

function toFreshNode(createdAt?: Date): Referrer {
  const node = { kind: 'Node', name: 'fresh', references: [], isConfigUnreported: true } as const;
  return createdAt === undefined ? node : { ...node, createdAt };
}

interface Situation extends Partial<ConfigHistory> {
  readonly referrers?: readonly Referrer[];
  readonly createdAtHours?: Readonly<Record<string, number>>;
}

/** Returns the cause and the hours from since to until, at hour 10 with a hold of two hours. */
function hold({ referrers = [], createdAtHours = {}, ...history }: Situation): string {
  const createdAt = (name: string) => {
    const hours = createdAtHours[name];
    return hours === undefined ? undefined : at(hours);
  };
  const remembered = { unreadable: undefined, watchedSince: at(0), createdAt, ...history };
  const found = findHold(OLD, referrers, remembered, 2 * H, at(10));
  if (found === undefined) return 'none';
  const toHours = (time: Date) => Math.floor((time.getTime() - at(0).getTime()) / H);
  return `${found.cause.kind} ${toHours(found.since)} to ${toHours(found.until)}`;
}

const WORKER = toPool('worker', { updatedChangedAt: at(9) });
/** A pool whose roll-out began long ago. */
const ROLLING = toPool('worker', {
  updatedChangedAt: at(1),
  references: [
    { field: 'spec', config: NEW, strength: 'strong' },
    { field: 'status', config: OTHER, strength: 'strong' },
  ],
});
const LEFT = { pool: 'worker', until: at(9) };
const STARTED = { watchedSince: at(9.5) };

test.each<[string, string, Situation]>([
  ['is not remembered and has no pool', 'none', STARTED],
  ['was last servable within the hold', 'pool 9 to 11', { servable: LEFT }],
  ['was last servable before the hold', 'none', { servable: { ...LEFT, until: at(8) } }],
  [
    'is servable in a late watch',
    'pool 10 to 12',
    { servable: { ...LEFT, until: undefined }, referrers: [WORKER] },
  ],
  // The pool moved to its present config at hour 9, and the guard did not see from which one.
  ['is not remembered', 'maybe-pool 9 to 11', { ...STARTED, referrers: [WORKER] }],
  ['is not remembered since long', 'none', { referrers: [WORKER], watchedSince: at(7) }],
  [
    'is not remembered and its pool got a config created later than it was updated',
    'maybe-pool 9 to 11',
    {
      ...STARTED,
      referrers: [toPool('worker', { updatedChangedAt: at(1) })],
      createdAtHours: { [NEW]: 9.1 },
    },
  ],
  [
    'is not remembered and its pool changed long ago',
    'none',
    {
      ...STARTED,
      referrers: [toPool('worker', { updatedChangedAt: at(1) })],
      createdAtHours: { [NEW]: 2 },
    },
  ],
  [
    'is not remembered and its pool rolls out a config whose creation is unknown',
    'maybe-pool 9 to 11',
    { ...STARTED, referrers: [ROLLING] },
  ],
  [
    'is not remembered and its pool rolls out a config that was created long ago',
    'none',
    { ...STARTED, referrers: [ROLLING], createdAtHours: { [NEW]: 2, [OTHER]: 1 } },
  ],
  [
    'is not remembered and its pool shows no time',
    'maybe-pool 9 to 11',
    { ...STARTED, referrers: [toPool('worker')] },
  ],
  [
    'is not remembered and its pool is being deleted',
    'none',
    { ...STARTED, referrers: [{ ...WORKER, references: [], isTerminating: true }] },
  ],
  [
    'is not remembered and was created after the watch began',
    'none',
    { ...STARTED, referrers: [WORKER], createdAtHours: { [OLD]: 9.6 } },
  ],
  [
    'is remembered from before the watch, and its pool changed meanwhile',
    'maybe-pool 9 to 11',
    { ...STARTED, servable: { pool: 'worker', until: at(3) }, referrers: [WORKER] },
  ],
  [
    'is remembered from before the watch, later than its pool changed',
    'pool 9 to 11',
    { ...STARTED, servable: { pool: 'worker', until: at(9.2) }, referrers: [WORKER] },
  ],
  ['was on a node that was removed', 'removed-node 9 to 11', { removedNode: { name: 'w0', at: at(9) } }],
  ['was on a node that was removed long ago', 'none', { removedNode: { name: 'w0', at: at(7) } }],
  [
    'was servable when an unreported node joined',
    'unreported-node 9 to 33',
    { servable: LEFT, referrers: [toFreshNode(at(5))], createdAtHours: { [OLD]: 4 } },
  ],
  [
    'was created after an unreported node joined',
    'none',
    { servable: { ...LEFT, until: at(7) }, referrers: [toFreshNode(at(5))], createdAtHours: { [OLD]: 6 } },
  ],
  [
    'was servable in the second in which an unreported node joined',
    'unreported-node 7 to 31',
    { servable: { ...LEFT, until: at(7) }, referrers: [toFreshNode(at(5))], createdAtHours: { [OLD]: 5 } },
  ],
  [
    'was servable, and the times of the unreported node and the config are unknown',
    'unreported-node 7 to 31',
    { servable: { ...LEFT, until: at(7) }, referrers: [toFreshNode()] },
  ],
  [
    'was servable a day before, with an unreported node',
    'none',
    { watchedSince: at(-20), servable: { ...LEFT, until: at(-14) }, referrers: [toFreshNode()] },
  ],
  ['has no pool, with an unreported node', 'none', { referrers: [toFreshNode()] }],
])('a config that %s is held: %s', (_title, expected, situation) => {
  expect(hold(situation)).toBe(expected);
});

test('rounds the times of a pool up, because the API server cuts their fractions', () => {
  const history = { unreadable: undefined, watchedSince: at(10), createdAt: () => undefined };
  expect(findHold(OLD, [WORKER], history, 2 * H, at(10))?.since).toEqual(
    new Date(at(9).getTime() + 1_000),
  );
});

test('a hold of 0 is off', () => {
  const history = {
    unreadable: undefined,
    watchedSince: at(0),
    createdAt: () => undefined,
    servable: LEFT,
  };
  expect(findHold(OLD, [toFreshNode()], history, 0, at(9))).toBeUndefined();
});
