import { expect, test } from 'vitest';

import { toConfigName } from '../../src/decision/config-name.ts';
import { findHold } from '../../src/decision/hold.ts';
import type { Referrer } from '../../src/decision/references.ts';

const OLD = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NEW = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'c'.repeat(32)}`);
const HOUR = 3_600_000;

/** A time in hours of the test. It is hour 10, and the hold is two hours. */
function at(hours: number): Date {
  return new Date(Date.UTC(2026, 10, 20) + hours * HOUR);
}

/** A pool whose spec and status name NEW. Its times are in hours. */
function toPool(
  { spec, updated, status }: { readonly spec?: number; readonly updated?: number; readonly status?: number },
  extras: Partial<Referrer> = {},
): Referrer {
  const references = ['spec', 'status'].map((field) => ({ field, config: NEW, strength: 'strong' }) as const);
  return {
    kind: 'MachineConfigPool',
    name: 'worker',
    references,
    ...(spec === undefined ? {} : { specChangedAt: at(spec) }),
    ...(updated === undefined ? {} : { updatedChangedAt: at(updated) }),
    ...(status === undefined ? {} : { statusChangedAt: at(status) }),
    ...extras,
  };
}

function toNode(createdAtHours: number): Referrer {
  return { kind: 'Node', name: 'fresh', references: [], createdAt: at(createdAtHours) };
}

/** A roll-out: the status still names another config. */
const ROLLING: Partial<Referrer> = {
  references: [
    { field: 'spec', config: NEW, strength: 'strong' },
    { field: 'status', config: OTHER, strength: 'strong' },
  ],
};

interface Situation {
  readonly referrers: readonly Referrer[];
  readonly config?: { readonly name?: string; readonly ownerPool?: string; readonly createdAt?: number };
  readonly createdAt?: Readonly<Record<string, number>>;
  readonly holdMs?: number;
}

/** Returns the hours of the hold, or the node because of which it lasts longer. */
function hold({ referrers, config = {}, createdAt = {}, holdMs = 2 * HOUR }: Situation): string {
  const { name = OLD, createdAt: configCreatedAt = 1, ...owner } = config;
  const found = findHold({ name: toConfigName(name), createdAt: at(configCreatedAt), ...owner }, referrers, {
    holdMs,
    now: at(10),
    createdAt: (other) => (createdAt[other] === undefined ? undefined : at(createdAt[other])),
  });
  if (found === undefined) return 'none';
  expect(found.pool).toBe(referrers[0]?.name);
  const toHours = (time: Date) => (time.getTime() - at(0).getTime()) / HOUR;
  // The times of the API server have no fractions, so one second is added.
  const [since, until] = [toHours(found.since) - 1 / 3_600, toHours(found.until)];
  if (found.node !== undefined) return `${found.node} to ${until}`;
  expect(until).toBeCloseTo(since + 1 / 3_600 + holdMs / HOUR, 9);
  return `since ${Math.round(since * 1e6) / 1e6}`;
}

test.each<[string, string, Situation]>([
  ['whose spec changed long ago', 'none', { referrers: [toPool({ spec: 1, updated: 2 })] }],
  ['whose spec changed lately', 'since 9', { referrers: [toPool({ spec: 9, updated: 2 }, ROLLING)] }],
  ['whose last machine updated lately', 'since 9.5', { referrers: [toPool({ spec: 9, updated: 9.5 })] }],
  [
    'that is paused: its spec changed lately, and its status names an older config',
    'since 8.5',
    { referrers: [toPool({ spec: 8.5, updated: 1 }, ROLLING)] },
  ],
  [
    'whose status moved without a transition, because it has no machines',
    'since 9.75',
    { referrers: [toPool({ spec: 9, updated: 1, status: 9.75 })] },
  ],
  [
    'whose status moved without a transition, after one in the same second as the change of its spec',
    'since 9.75',
    { referrers: [toPool({ spec: 9, updated: 9, status: 9.75 })] },
  ],
  [
    'whose status is written with every change of its machine counts',
    'none',
    { referrers: [toPool({ spec: 1, updated: 2, status: 9.9 })] },
  ],
  ['that never had the condition Updated', 'since 9', { referrers: [toPool({ spec: 9, status: 8 })] }],
  ['whose status moved at an unknown time: now', 'since 10', { referrers: [toPool({ spec: 9, updated: 1 })] }],
  [
    'that named the config never: it is new',
    'since 9',
    { referrers: [toPool({ spec: 1, updated: 2 })], config: { createdAt: 9 } },
  ],
  [
    'without managedFields: the creation of its configs',
    'since 9',
    { referrers: [toPool({ updated: 1 }, ROLLING)], createdAt: { [NEW]: 9, [OTHER]: 2 } },
  ],
  [
    'without managedFields and with an unknown config: now',
    'since 10',
    { referrers: [toPool({ updated: 1 }, ROLLING)], createdAt: { [NEW]: 2 } },
  ],
  ['that is being deleted', 'none', { referrers: [toPool({ spec: 9 }, { references: [], isTerminating: true })] }],
  ['of another name', 'none', { referrers: [toPool({ spec: 9 }, { name: 'infra' })] }],
  [
    'that owns a config without its name',
    'since 9',
    {
      referrers: [toPool({ spec: 9 }, ROLLING)],
      config: { name: 'rendered-by-hand', ownerPool: 'worker' },
    },
  ],
  ['without a hold', 'none', { referrers: [toPool({ spec: 9 })], holdMs: 0 }],
])('the hold of a config with a pool %s: %s', (_condition, expected, situation) => {
  expect(hold(situation)).toBe(expected);
});

const QUIET = toPool({ spec: 1, updated: 2 });

test.each<[string, string, readonly Referrer[]]>([
  ['that joined 23 hours ago', 'fresh to 11', [QUIET, toNode(-13)]],
  ['that joined 24 hours ago', 'none', [QUIET, toNode(-14)]],
  ['that joined lately', 'fresh to 33', [QUIET, toNode(9)]],
  ['that joined lately, beside an older one', 'fresh to 33', [QUIET, toNode(5), toNode(9)]],
  ['and no pool', 'none', [toNode(9)]],
  ['that joined before the end of a longer hold', 'since 9', [toPool({ spec: 9, updated: 1 }, ROLLING), toNode(-13.1)]],
])('a node without currentConfig %s: %s', (_condition, expected, referrers) => {
  expect(hold({ referrers, config: { createdAt: -20 } })).toBe(expected);
});

test('a node that joined before the config was created cannot boot with it', () => {
  const [first, second] = [toNode(8.9), toNode(9)];
  const config = { createdAt: 9 };
  const referrers = [toPool({ spec: 1, updated: 2 })];
  expect(hold({ referrers: [...referrers, first], config })).toBe('since 9');
  expect(hold({ referrers: [...referrers, second], config })).toBe('fresh to 33');
});

test('a node that has reported its config extends no hold', () => {
  const reported: Referrer = { kind: 'Node', name: 'old', references: [] };
  expect(hold({ referrers: [QUIET, reported] })).toBe('none');
});
