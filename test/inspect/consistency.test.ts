import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { poolOfConfig } from '../../src/decision/config-name.ts';
import { checkConsistency, type ConsistencyResult } from '../../src/inspect/consistency.ts';
import { NAMES } from '../support/arbitrary.ts';
import { EVERYTHING, inspectedNode, inspectedPool, snapshot } from './snapshot.ts';

const OLD = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const NEW = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
const GONE = 'rendered-worker-c4983d88dabdc54ecf977ee120fd3796';
const INFRA = 'rendered-infra-d4983d88dabdc54ecf977ee120fd3796';

const WORKER = inspectedPool('worker', { spec: NEW, status: NEW });

/** Code, name, field and recoverability of each problem. */
function summarize({ problems }: ConsistencyResult): [string, string | undefined, string | undefined, boolean][] {
  return problems.map(({ code, name, field, isRecoverable }) => [code, name, field, isRecoverable]);
}

function checkAll(...[nodes, pools, configs]: Parameters<typeof snapshot>): ConsistencyResult {
  return checkConsistency(snapshot(nodes, pools, configs), EVERYTHING);
}

describe('is consistent with', () => {
  test.each([
    ['all nodes on one config', [inspectedNode('w0', { current: NEW, desired: NEW })], [WORKER]],
    ['a node between two configs', [inspectedNode('w0', { current: OLD, desired: NEW })], [WORKER]],
    [
      'a roll-out',
      [inspectedNode('w0', { current: OLD, desired: OLD })],
      [inspectedPool('worker', { spec: NEW, status: OLD })],
    ],
    ['a paused pool', [inspectedNode('w0', { current: OLD, desired: OLD })], [{ ...WORKER, paused: true }]],
    ['a degraded node', [inspectedNode('w0', { current: OLD, desired: NEW, state: 'Degraded' })], [WORKER]],
    [
      'a node that started with the config of another pool',
      [inspectedNode('w0', { current: INFRA, desired: INFRA })],
      [WORKER, inspectedPool('infra', { spec: INFRA, status: INFRA })],
    ],
    [
      'a terminating pool that names a missing config',
      [inspectedNode('w0', { current: NEW, desired: NEW })],
      [WORKER, inspectedPool('infra', { spec: GONE, terminating: true })],
    ],
  ])('%s', (_what, nodes, pools) => {
    expect(checkAll(nodes, pools, [OLD, NEW, INFRA])).toMatchObject({ ok: true, isRecoverable: false, problems: [] });
  });
});

describe('is inconsistent and recoverable with', () => {
  test.each([
    ['an unreported node', [inspectedNode('w0', {})], [WORKER], [['NotReported', 'w0', undefined, true]]],
    [
      'a node that has one of two annotations',
      [inspectedNode('w0', { current: NEW })],
      [WORKER],
      [['NotReported', 'w0', 'desiredConfig', true]],
    ],
    [
      "a missing config that a pool's spec names, because the operator renders it again",
      [inspectedNode('w0', { current: OLD, desired: GONE })],
      [inspectedPool('worker', { spec: GONE, status: OLD })],
      [
        ['ConfigMissing', 'w0', 'desiredConfig', true],
        ['ConfigMissing', 'worker', 'spec', true],
      ],
    ],
    [
      'the bootstrap config before the first config of its pool',
      [inspectedNode('w0', { current: GONE, desired: GONE })],
      [inspectedPool('worker', {})],
      [
        ['ConfigMissing', 'w0', 'currentConfig', true],
        ['ConfigMissing', 'w0', 'desiredConfig', true],
        ['SpecEmpty', 'worker', 'spec', true],
        ['StatusEmpty', 'worker', 'status', true],
      ],
    ],
    [
      'the bootstrap config before there are pools',
      [inspectedNode('w0', { current: GONE, desired: GONE })],
      [],
      [
        ['ConfigMissing', 'w0', 'currentConfig', true],
        ['ConfigMissing', 'w0', 'desiredConfig', true],
      ],
    ],
    [
      'a pool without a status whose nodes are updating',
      [inspectedNode('w0', { current: OLD, desired: NEW })],
      [inspectedPool('worker', { spec: NEW })],
      [['StatusEmpty', 'worker', 'status', true]],
    ],
  ])('%s', (_what, nodes, pools, problems) => {
    const result = checkAll(nodes, pools, [OLD, NEW]);
    expect(result).toMatchObject({ ok: false, isRecoverable: true });
    expect(summarize(result)).toEqual(problems);
  });
});

describe('is inconsistent and not recoverable with', () => {
  test('a missing config that no pool renders', () => {
    const result = checkAll([inspectedNode('w0', { current: GONE, desired: NEW })], [WORKER], [NEW]);
    expect(result).toMatchObject({ ok: false, isRecoverable: false });
    expect(summarize(result)).toEqual([['ConfigMissing', 'w0', 'currentConfig', false]]);
  });

  test('a misspelled name, even if a pool has no config yet, and suggests the nearest name', () => {
    const typo = NEW.replace('rendered', 'render');
    const result = checkAll(
      [inspectedNode('w0', { current: NEW, desired: typo })],
      [WORKER, inspectedPool('infra', { status: NEW })],
      [NEW],
    );
    expect(result.problems).toMatchObject([
      {
        code: 'ConfigMissing',
        name: 'w0',
        field: 'desiredConfig',
        config: typo,
        isRecoverable: false,
        suggestion: NEW,
      },
      { code: 'SpecEmpty', isRecoverable: true },
    ]);
    expect(result.isRecoverable).toBe(false);
  });

  test('an empty status of a pool whose node is stuck, unlike that of another pool', () => {
    const result = checkAll(
      [inspectedNode('m0', { current: GONE, desired: GONE, role: 'master' })],
      [inspectedPool('master', { spec: NEW }), inspectedPool('worker', { spec: NEW })],
      [NEW],
    );
    expect(summarize(result)).toEqual([
      ['ConfigMissing', 'm0', 'currentConfig', false],
      ['ConfigMissing', 'm0', 'desiredConfig', false],
      ['StatusEmpty', 'master', 'status', false],
      ['StatusEmpty', 'worker', 'status', true],
    ]);
  });

  test('a missing config that only a terminating pool names', () => {
    const dying = inspectedPool('infra', { spec: GONE, terminating: true });
    expect(
      checkAll([inspectedNode('w0', { current: GONE, desired: GONE })], [WORKER, dying], [NEW]).isRecoverable,
    ).toBe(false);
  });

  test("a missing config in a pool's status", () => {
    const result = checkAll(
      [inspectedNode('w0', { current: NEW, desired: NEW })],
      [inspectedPool('worker', { spec: NEW, status: GONE })],
      [NEW],
    );
    expect(summarize(result)).toEqual([['ConfigMissing', 'worker', 'status', false]]);
  });
});

describe('scope', () => {
  test.each([
    [0, 1, false, 'no node is in the cluster'],
    [0, 1, true, 'no node matches the selection'],
    [1, 2, true, 'only 1 node matches the selection, 2 are needed'],
    [2, 3, false, 'only 2 nodes are in the cluster, 3 are needed'],
  ])('reports too few nodes: %i of %i (partial: %s): %s', (count, minNodes, isPartial, what) => {
    const nodes = ['w0', 'w1'].slice(0, count).map((name) => inspectedNode(name, { current: NEW, desired: NEW }));
    const result = checkConsistency(snapshot(nodes, [WORKER], [NEW]), { isPartial, minNodes });
    expect(result).toMatchObject({
      ok: false,
      isRecoverable: true,
      problems: [{ code: 'TooFewNodes', description: what }],
    });
  });

  test('checks only the pools of selected nodes', () => {
    const nodes = [inspectedNode('w0', { current: NEW, desired: NEW })];
    const pools = [WORKER, inspectedPool('master', { spec: GONE })];
    expect(checkConsistency(snapshot(nodes, pools, [NEW]), { isPartial: true, minNodes: 1 })).toMatchObject({
      ok: true,
    });
    expect(checkConsistency(snapshot(nodes, pools, [NEW]), EVERYTHING)).toMatchObject({ ok: false });
  });

  test('assigns a node to master, else a custom pool, else worker, else the pool of its config', () => {
    const pools = ['worker', 'infra', 'master'].map((name) => inspectedPool(name, { spec: NEW, status: NEW }));
    const node = inspectedNode('n', { current: OLD, desired: INFRA });
    const labelled = (...roles: string[]) => ({
      ...node,
      labels: Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
    });
    const poolsOf = [
      labelled('worker', 'infra', 'master'),
      labelled('worker', 'infra'),
      labelled('worker'),
      labelled(),
    ];
    expect(checkAll(poolsOf, pools, [OLD, NEW, INFRA]).nodes.map(({ pool }) => pool)).toEqual([
      'master',
      'infra',
      'worker',
      'infra',
    ]);
  });
});

const config = fc.option(fc.constantFrom(...NAMES), { nil: undefined });
const role = fc.constantFrom('worker', 'master', 'infra-a.b');
const anyNode = fc.record({ current: config, desired: config, role });
const anyPool = fc.record({ spec: config, status: config, terminating: fc.boolean() });

/** The options without undefined values. */
function removeUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

test('agrees with a naive model for any cluster', () => {
  fc.assert(
    fc.property(
      fc.array(anyNode, { minLength: 1, maxLength: 5 }),
      fc.record({ worker: anyPool, master: anyPool, 'infra-a.b': anyPool }, { requiredKeys: [] }),
      fc.subarray([...NAMES]),
      (nodeOptions, poolOptions, existing) => {
        const live = Object.entries(poolOptions).filter(([, { terminating }]) => !terminating);
        const named = [
          ...nodeOptions.flatMap(({ current, desired }) => [current, desired]),
          ...live.flatMap(([, { spec, status }]) => [spec, status]),
        ];
        const isMissing = (name: string | undefined) => name !== undefined && !existing.includes(name as never);
        const isRendered = (name: string) =>
          live.some(([, { spec }]) => spec === name) ||
          (poolOfConfig(name as never) !== undefined &&
            (live.length === 0 ||
              live.some(([pool, { spec }]) => pool === poolOfConfig(name as never) && spec === undefined)));

        const result = checkAll(
          nodeOptions.map((options, index) => inspectedNode(`n${index}`, removeUndefined(options))),
          Object.entries(poolOptions).map(([name, options]) => inspectedPool(name, removeUndefined(options))),
          existing,
        );

        expect(result.ok).toBe(named.every((name) => name !== undefined && !isMissing(name)));
        const isUnrecoverable = named.some((name) => name !== undefined && isMissing(name) && !isRendered(name));
        expect(result.isRecoverable).toBe(!result.ok && !isUnrecoverable);
        for (const { suggestion } of result.problems)
          if (suggestion !== undefined) expect(existing).toContain(suggestion);
      },
    ),
    { numRuns: 500 },
  );
});
