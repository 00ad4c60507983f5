import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { poolOfConfig } from '../../src/decision/config-name.ts';
import { checkConsistency, type ConsistencyResult } from '../../src/inspect/consistency.ts';
import { NAMES } from '../support/arbitrary.ts';
import { EVERYTHING, inspectedNode, inspectedPool, snapshot } from './inspected.ts';

const OLD = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const NEW = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
const GONE = 'rendered-worker-c4983d88dabdc54ecf977ee120fd3796';
const INFRA = 'rendered-infra-d4983d88dabdc54ecf977ee120fd3796';

const WORKER = inspectedPool('worker', { spec: NEW, status: NEW });

/** The judgement in short: what is wrong, and whether it can heal. */
function wrong({ problems }: ConsistencyResult): [string, string | undefined, string | undefined, boolean][] {
  return problems.map(({ code, name, field, isRecoverable }) => [code, name, field, isRecoverable]);
}

function judge(...[nodes, pools, configs]: Parameters<typeof snapshot>): ConsistencyResult {
  return checkConsistency(snapshot(nodes, pools, configs), EVERYTHING);
}

describe('fine', () => {
  test.each([
    ['all on one config', [inspectedNode('w0', { current: NEW, desired: NEW })], [WORKER]],
    ['a node between two configs', [inspectedNode('w0', { current: OLD, desired: NEW })], [WORKER]],
    [
      'a roll-out',
      [inspectedNode('w0', { current: OLD, desired: OLD })],
      [inspectedPool('worker', { spec: NEW, status: OLD })],
    ],
    ['a paused pool', [inspectedNode('w0', { current: OLD, desired: OLD })], [{ ...WORKER, paused: true }]],
    ['a degraded node', [inspectedNode('w0', { current: OLD, desired: NEW, state: 'Degraded' })], [WORKER]],
    [
      "a machine that booted with another pool's config",
      [inspectedNode('w0', { current: INFRA, desired: INFRA })],
      [WORKER, inspectedPool('infra', { spec: INFRA, status: INFRA })],
    ],
    [
      'a pool that is being deleted, whatever it names',
      [inspectedNode('w0', { current: NEW, desired: NEW })],
      [WORKER, inspectedPool('infra', { spec: GONE, terminating: true })],
    ],
  ])('%s', (_what, nodes, pools) => {
    expect(judge(nodes, pools, [OLD, NEW, INFRA])).toMatchObject({ ok: true, isRecoverable: false, problems: [] });
  });
});

describe('not fine, and waiting may heal it', () => {
  test.each([
    ['a node that has reported nothing', [inspectedNode('w0', {})], [WORKER], [['NotReported', 'w0', undefined, true]]],
    [
      'a node that has reported one of two',
      [inspectedNode('w0', { current: NEW })],
      [WORKER],
      [['NotReported', 'w0', 'desiredConfig', true]],
    ],
    [
      "a config that a pool's spec names: the operator renders it again",
      [inspectedNode('w0', { current: OLD, desired: GONE })],
      [inspectedPool('worker', { spec: GONE, status: OLD })],
      [
        ['ConfigMissing', 'w0', 'desiredConfig', true],
        ['ConfigMissing', 'worker', 'spec', true],
      ],
    ],
    [
      "the bootstrap's config, before the cluster has rendered for that pool",
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
      "the bootstrap's config, before there are pools",
      [inspectedNode('w0', { current: GONE, desired: GONE })],
      [],
      [
        ['ConfigMissing', 'w0', 'currentConfig', true],
        ['ConfigMissing', 'w0', 'desiredConfig', true],
      ],
    ],
    [
      'a pool whose machines are still on their way',
      [inspectedNode('w0', { current: OLD, desired: NEW })],
      [inspectedPool('worker', { spec: NEW })],
      [['StatusEmpty', 'worker', 'status', true]],
    ],
  ])('%s', (_what, nodes, pools, problems) => {
    const judged = judge(nodes, pools, [OLD, NEW]);
    expect(judged).toMatchObject({ ok: false, isRecoverable: true });
    expect(wrong(judged)).toEqual(problems);
  });
});

describe('not fine, and no waiting heals it', () => {
  test('a config that is gone and that no pool is going to render', () => {
    const judged = judge([inspectedNode('w0', { current: GONE, desired: NEW })], [WORKER], [NEW]);
    expect(judged).toMatchObject({ ok: false, isRecoverable: false });
    expect(wrong(judged)).toEqual([['ConfigMissing', 'w0', 'currentConfig', false]]);
  });

  test('a misspelt name, with the nearest that exists, even while a pool has not been rendered', () => {
    const typo = NEW.replace('rendered', 'render');
    const judged = judge(
      [inspectedNode('w0', { current: NEW, desired: typo })],
      [WORKER, inspectedPool('infra', { status: NEW })],
      [NEW],
    );
    expect(judged.problems).toMatchObject([
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
    expect(judged.isRecoverable).toBe(false);
  });

  test('a pool with an empty status whose own node is stuck; another pool is not concerned', () => {
    const judged = judge(
      [inspectedNode('m0', { current: GONE, desired: GONE, role: 'master' })],
      [inspectedPool('master', { spec: NEW }), inspectedPool('worker', { spec: NEW })],
      [NEW],
    );
    expect(wrong(judged)).toEqual([
      ['ConfigMissing', 'm0', 'currentConfig', false],
      ['ConfigMissing', 'm0', 'desiredConfig', false],
      ['StatusEmpty', 'master', 'status', false],
      ['StatusEmpty', 'worker', 'status', true],
    ]);
  });

  test('only a pool that lives counts: one that is being deleted renders nothing any more', () => {
    const dying = inspectedPool('infra', { spec: GONE, terminating: true });
    expect(judge([inspectedNode('w0', { current: GONE, desired: GONE })], [WORKER, dying], [NEW]).isRecoverable).toBe(
      false,
    );
  });

  test("a pool's status that names what is gone", () => {
    const judged = judge(
      [inspectedNode('w0', { current: NEW, desired: NEW })],
      [inspectedPool('worker', { spec: NEW, status: GONE })],
      [NEW],
    );
    expect(wrong(judged)).toEqual([['ConfigMissing', 'worker', 'status', false]]);
  });
});

describe('which nodes and pools', () => {
  test.each([
    [0, 1, false, 'no node is in the cluster'],
    [0, 1, true, 'no node matches the selection'],
    [1, 2, true, 'only 1 node matches the selection, 2 are needed'],
    [2, 3, false, 'only 2 nodes are in the cluster, 3 are needed'],
  ])('%i nodes where %i are needed (selected: %s): %s', (count, minNodes, isPartial, what) => {
    const nodes = ['w0', 'w1'].slice(0, count).map((name) => inspectedNode(name, { current: NEW, desired: NEW }));
    const judged = checkConsistency(snapshot(nodes, [WORKER], [NEW]), { isPartial, minNodes });
    expect(judged).toMatchObject({
      ok: false,
      isRecoverable: true,
      problems: [{ code: 'TooFewNodes', description: what }],
    });
  });

  test('of some nodes, only the pools that choose one of them', () => {
    const nodes = [inspectedNode('w0', { current: NEW, desired: NEW })];
    const pools = [WORKER, inspectedPool('master', { spec: GONE })];
    expect(checkConsistency(snapshot(nodes, pools, [NEW]), { isPartial: true, minNodes: 1 })).toMatchObject({
      ok: true,
    });
    expect(checkConsistency(snapshot(nodes, pools, [NEW]), EVERYTHING)).toMatchObject({ ok: false });
  });

  test('a node belongs to master before a custom pool, to that before worker, without labels to the one of its config', () => {
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
    expect(judge(poolsOf, pools, [OLD, NEW, INFRA]).nodes.map(({ pool }) => pool)).toEqual([
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

/** fast-check gives undefined, the options leave it away. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

test('agrees with a naive model of the rule on any cluster', () => {
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
        const comes = (name: string) =>
          live.some(([, { spec }]) => spec === name) ||
          (poolOfConfig(name as never) !== undefined &&
            (live.length === 0 ||
              live.some(([pool, { spec }]) => pool === poolOfConfig(name as never) && spec === undefined)));

        const judged = judge(
          nodeOptions.map((options, index) => inspectedNode(`n${index}`, given(options))),
          Object.entries(poolOptions).map(([name, options]) => inspectedPool(name, given(options))),
          existing,
        );

        expect(judged.ok).toBe(named.every((name) => name !== undefined && !isMissing(name)));
        const hopeless = named.some((name) => name !== undefined && isMissing(name) && !comes(name));
        expect(judged.isRecoverable).toBe(!judged.ok && !hopeless);
        for (const { suggestion } of judged.problems)
          if (suggestion !== undefined) expect(existing).toContain(suggestion);
      },
    ),
    { numRuns: 500 },
  );
});
