import { beforeEach, expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { Referrer } from '../../src/decision/references.ts';
import {
  parseStoredConfigs,
  ServableConfigs,
  type StoredConfig,
} from '../../src/references/servable-configs.ts';

const X = toConfigName('rendered-worker-x');
const Y = toConfigName('rendered-worker-y');
const Z = toConfigName('rendered-worker-z');

/** Seconds of the test. */
let second: number;

beforeEach(() => {
  second = 0;
});

function at(seconds: number): Date {
  return new Date(Date.UTC(2026, 10, 20) + seconds * 1_000);
}

function toText(seconds: number): string {
  return at(seconds).toISOString().replace('.000Z', 'Z');
}

function toPool(name: string, configs: readonly string[], version = '1'): Referrer {
  return {
    kind: 'MachineConfigPool',
    name,
    version,
    references: configs.map((config) => ({
      field: 'spec',
      config: toConfigName(config),
      strength: 'strong',
    })),
  };
}

function toNode(name: string, config: string): Referrer {
  const references = [
    { field: 'currentConfig', config: toConfigName(config), strength: 'strong' } as const,
  ];
  return { kind: 'Node', name, references };
}

/** A memory whose watches have listed these pools and nodes. */
function createMemory(
  referrers: readonly Referrer[] = [],
  stored: readonly StoredConfig[] | undefined = [],
): ServableConfigs {
  const memory = new ServableConfigs({ isStored: true, now: () => at(second) });
  memory.mergeStored(stored);
  for (const kind of ['MachineConfigPool', 'Node']) {
    memory.startList(kind);
    for (const referrer of referrers) if (referrer.kind === kind) memory.update(undefined, referrer);
    memory.endList(kind);
  }
  return memory;
}

function untilOf(memory: ServableConfigs, config = X) {
  const { servable, removedNode } = memory.historyOf(config, []);
  return {
    pool: servable?.pool,
    until: servable?.until,
    node: removedNode?.name,
    removedAt: removedNode?.at,
  };
}

test('counts from the moment in which the last pool stops to name a config', () => {
  const memory = createMemory([toPool('worker', [X]), toPool('infra', [X])]);
  second = 10;
  memory.update(undefined, toPool('worker', [Y, X]));
  memory.update(undefined, toPool('worker', [Y]));
  expect(untilOf(memory)).toMatchObject({ until: undefined });
  second = 20;
  memory.update(toPool('infra', [X]), undefined);
  expect(untilOf(memory)).toMatchObject({ pool: 'infra', until: at(20) });
  second = 30;
  memory.update(undefined, toPool('worker', [X]));
  expect(untilOf(memory)).toMatchObject({ pool: 'worker', until: undefined });
  second = 40;
  memory.update(undefined, {
    kind: 'MachineConfigPool',
    name: 'worker',
    references: [],
    isTerminating: true,
  });
  expect(untilOf(memory)).toMatchObject({ pool: 'worker', until: at(40) });
  expect(memory.historyOf(Z, []).servable).toBeUndefined();
});

test('remembers what a removed node named, and not what a node left', () => {
  const memory = createMemory([toNode('w0', X), toNode('w1', Y)]);
  second = 10;
  memory.update(toNode('w0', X), toNode('w0', Y));
  memory.update(toNode('w1', Y), undefined);
  expect(untilOf(memory)).toMatchObject({ removedAt: undefined });
  expect(untilOf(memory, Y)).toMatchObject({ node: 'w1', removedAt: at(10) });
});

test('is not complete before the lists, the stored memory, and the pools of the live read', () => {
  const memory = new ServableConfigs({ isStored: true, now: () => at(second) });
  const findUnreadable = (version = '1') =>
    memory.historyOf(X, [toPool('worker', [Y], version)]).unreadable?.name;
  expect(findUnreadable()).toBe('machineconfigguards');
  memory.mergeStored(undefined);
  expect(findUnreadable()).toBe('machineconfigpools');
  memory.update(undefined, toPool('worker', [Y], '9'));
  memory.endList('MachineConfigPool');
  expect(findUnreadable()).toBe('nodes');
  memory.endList('Node');
  expect(findUnreadable('9')).toBeUndefined();
  expect(findUnreadable('8')).toBeUndefined();
  // The watch is late: the pool can have named any config between 9 and 10.
  expect(findUnreadable('10')).toBe('machineconfigpools');
  memory.startList('MachineConfigPool');
  expect(findUnreadable('9')).toBe('machineconfigpools');
});

test.each([['worker-config'], ['rendered-\u001b[31m'], [`rendered-${'x'.repeat(254)}`]])(
  'ignores the name %j, which no rendered config can have',
  (name) => {
    const memory = createMemory([toPool('worker', [name]), toNode('w0', name)]);
    memory.update(toNode('w0', name), undefined);
    expect(memory.toStored()).toEqual([]);
  },
);

test('counts what left while no guard watched from the next list', () => {
  const stored: readonly StoredConfig[] = [
    { name: X, pool: 'worker' },
    { name: Y, pool: 'worker', lastServable: toText(3) },
    { name: Z, isOnNode: true },
  ];
  second = 50;
  const memory = createMemory([toPool('worker', [Y])], stored);
  expect(untilOf(memory)).toMatchObject({ pool: 'worker', until: at(50) });
  expect(untilOf(memory, Y)).toMatchObject({ until: undefined });
  expect(untilOf(memory, Z)).toMatchObject({ node: undefined, removedAt: at(50) });
  // The stored memory is late, or no leader writes it. That does not lengthen the hold.
  second = 90;
  memory.mergeStored(stored);
  expect(untilOf(memory)).toMatchObject({ until: at(50) });
  second = 100;
  memory.startList('MachineConfigPool');
  memory.update(undefined, toPool('worker', [Z]));
  memory.endList('MachineConfigPool');
  expect(untilOf(memory, Y)).toMatchObject({ until: at(100) });
});

test('counts what left while no guard watched from one list only, even if no leader writes the status', () => {
  const stored = [
    { name: X, pool: 'worker' },
    { name: Z, isOnNode: true },
  ] as const;
  const memory = createMemory([toPool('worker', [Y])], stored);
  second = 50;
  memory.mergeStored(stored);
  for (const kind of ['MachineConfigPool', 'Node']) {
    memory.startList(kind);
    memory.endList(kind);
  }
  expect(untilOf(memory)).toMatchObject({ until: at(0) });
  expect(untilOf(memory, Z)).toMatchObject({ removedAt: at(0) });
  // Another guard has stored it again, while the watch of this one was late.
  memory.mergeStored([{ name: X, pool: 'worker', lastServable: toText(20) }]);
  second = 60;
  memory.mergeStored(stored);
  second = 70;
  memory.startList('MachineConfigPool');
  memory.endList('MachineConfigPool');
  expect(untilOf(memory)).toMatchObject({ until: at(70) });
});

test('takes the later time of its own memory and the stored one, but none in the future', () => {
  const memory = createMemory([toPool('worker', [X])]);
  second = 10;
  memory.update(undefined, toPool('worker', [Y]));
  second = 60;
  memory.mergeStored([{ name: X, pool: 'worker', lastServable: toText(5) }]);
  expect(untilOf(memory)).toMatchObject({ until: at(10) });
  memory.mergeStored([{ name: X, pool: 'infra', lastServable: toText(40) }]);
  expect(untilOf(memory)).toMatchObject({ pool: 'infra', until: at(40) });
  memory.mergeStored([
    { name: X, pool: 'infra', lastServable: toText(4_000), removedNode: 'w', nodeRemoved: toText(20) },
  ]);
  expect(untilOf(memory)).toEqual({ pool: 'infra', until: at(60), node: 'w', removedAt: at(20) });
  // A person deleted the status.
  memory.mergeStored([]);
  expect(untilOf(memory)).toMatchObject({ until: at(60), removedAt: at(20) });
});

test('another process continues with the stored times, and shortens none', () => {
  const memory = createMemory([toPool('worker', [X]), toNode('w0', Z)]);
  second = 10.2;
  memory.update(undefined, toPool('worker', [Y]));
  memory.update(toNode('w0', Z), undefined);
  const stored = memory.toStored();
  expect(stored).toEqual([
    { name: X, pool: 'worker', lastServable: toText(11) },
    { name: Y, pool: 'worker' },
    { name: Z, removedNode: 'w0', nodeRemoved: toText(11) },
  ]);
  second = 30;
  const next = createMemory([toPool('worker', [Y])], parseStoredConfigs({ servableConfigs: stored }));
  expect(untilOf(next)).toMatchObject({ pool: 'worker', until: at(11) });
  expect(untilOf(next, Z)).toMatchObject({ node: 'w0', removedAt: at(11) });
  expect(next.toStored()).toEqual(stored);
});

test('forgets a deleted config, unless it is or was lately in use', () => {
  const memory = createMemory([toPool('worker', [X])]);
  second = 10;
  memory.forget(X);
  expect(untilOf(memory)).toMatchObject({ pool: 'worker', until: undefined });
  memory.update(undefined, toPool('worker', [Y]));
  second = 3_610;
  memory.forget(X);
  expect(untilOf(memory)).toMatchObject({ until: at(10) });
  second = 3_611;
  memory.forget(X);
  expect(untilOf(memory)).toMatchObject({ until: undefined, pool: undefined });
});

test('keeps the configs that were servable last, and those that pools and nodes name', () => {
  const toName = (index: number) => toConfigName(`rendered-worker-${index}`);
  const memory = createMemory([toPool('master', [Z]), toNode('w0', X)]);
  for (let index = 0; index < 300; index += 1) {
    second = index;
    memory.update(undefined, toPool('worker', [toName(index)]));
  }
  const stored = memory.toStored();
  expect(stored).toHaveLength(200);
  expect(stored.map(({ name }) => name)).toEqual(expect.arrayContaining([X, Z]));
  expect(untilOf(memory, toName(298))).toMatchObject({ until: at(299) });
  expect(untilOf(memory, toName(0))).toMatchObject({ pool: undefined });
});

test.each([
  [undefined],
  [null],
  [{}],
  [{ servableConfigs: 7 }],
  [{ servableConfigs: [7, null, {}, { name: 7 }, { name: 'a' }] }],
])('reads no configs from the status %j', (status) => {
  expect(parseStoredConfigs(status)).toEqual([]);
});
