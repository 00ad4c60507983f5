import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePoolName } from '../../../src/decision/config-name.ts';
import { checkConsistency, type ConsistencyResult } from '../../../src/cli/check/consistency.ts';
import { GONE, NEW, OLD } from '../inspected-cluster.ts';
import { NAMES } from '../../support/arbitrary.ts';
import { EVERYTHING, inspectedNode, inspectedPool, NOW, snapshot } from './snapshot.ts';

const INFRA = 'rendered-infra-d4983d88dabdc54ecf977ee120fd3796';

const NODE = inspectedNode('w0', { current: NEW, desired: NEW });
const WORKER = inspectedPool('worker', { spec: NEW, status: NEW });

function checkAll(...[nodes, pools, configs]: Parameters<typeof snapshot>): ConsistencyResult {
  return checkConsistency(snapshot(nodes, pools, configs), EVERYTHING, NOW);
}

test('accepts a rollout, a paused pool, a degraded node and a terminating pool', () => {
  const node = inspectedNode('w0', { current: OLD, desired: NEW, state: 'Degraded' });
  const pool = { ...inspectedPool('worker', { spec: NEW, status: OLD }), paused: true };
  const terminating = inspectedPool('infra', { spec: GONE, terminating: true });
  const result = checkAll([node], [pool, terminating], [OLD, NEW]);
  expect(result).toMatchObject({ ok: true, isRecoverable: false, problems: [] });
});

test('an empty status is unrecoverable while a node names a missing config', () => {
  const nodes = [inspectedNode('n', { current: NEW, desired: GONE })];
  const { problems } = checkAll(nodes, [inspectedPool('worker', { spec: NEW })], [NEW]);
  expect(problems).toMatchObject([
    { code: 'ConfigMissing', name: 'n', field: 'desiredConfig', recoverable: false },
    { code: 'StatusEmpty', name: 'worker', field: 'status', recoverable: false },
  ]);
});

test('reports a config in use and being deleted, which only a pool spec lets return', () => {
  const nodes = [inspectedNode('n', { current: NEW, desired: OLD })];
  const check = (spec: string) =>
    checkConsistency(snapshot(nodes, [inspectedPool('worker', { spec, status: OLD })], [NEW], [OLD]), EVERYTHING, NOW);
  const problem = { code: 'ConfigTerminating', config: OLD, recoverable: false };
  expect(check(NEW)).toMatchObject({
    ok: false,
    isRecoverable: false,
    problems: [
      {
        ...problem,
        name: 'n',
        field: 'desiredConfig',
        message: `node n: desiredConfig ${OLD} is being deleted`,
      },
      { ...problem, name: 'worker', field: 'status' },
    ],
  });
  expect(check(OLD)).toMatchObject({ ok: false, isRecoverable: true });
});

test.each([
  ['young', { ageMinutes: 29 }, undefined],
  ['young, and its node names a missing config', { ageMinutes: 0 }, GONE],
  ['young and has an updated machine', { ageMinutes: 29, updatedMachineCount: 1 }, GONE],
  ['old', { ageMinutes: 30 }, undefined],
  ['old and has an updated machine', { ageMinutes: 30, updatedMachineCount: 1 }, GONE],
])('judges the empty status of a pool that is %s', (_case, options, missing) => {
  const nodes = [inspectedNode('n', { current: OLD, desired: missing ?? NEW, role: 'infra' })];
  const pools = [WORKER, inspectedPool('infra', { spec: NEW, ...options })];
  const { problems } = checkAll(nodes, pools, [OLD, NEW]);
  const ofPool = problems.filter(({ name }) => name === 'infra');
  const isYoung = options.ageMinutes < 30;
  const isStuck = missing !== undefined && !('updatedMachineCount' in options);
  const code = isStuck ? 'StatusEmpty' : 'RolloutUnfinished';
  const problem = { code, field: 'status', recoverable: missing === undefined };
  expect(ofPool).toMatchObject(isStuck || !isYoung ? [problem] : []);
});

test('an empty status of a built-in pool is a problem until a machine is updated', () => {
  const check = (updatedMachineCount: number) =>
    checkAll([NODE], [inspectedPool('worker', { spec: NEW, ageMinutes: 0, updatedMachineCount })], [NEW]);
  expect(check(0)).toMatchObject({
    isRecoverable: true,
    problems: [{ code: 'StatusEmpty', recoverable: true }],
  });
  expect(check(1).problems).toEqual([]);
});

test.each([
  [true, GONE, ['PausedForRestore']],
  [true, undefined, []],
  [false, GONE, []],
])('a pool with paused %s and the mark of a restore of %s has the problems %j', (paused, pausedFor, codes) => {
  const mark = pausedFor === undefined ? {} : { pausedFor };
  const pool = { ...inspectedPool('worker', { spec: NEW, status: NEW }), paused, ...mark };
  const { ok, isRecoverable, problems } = checkAll([NODE], [pool], [NEW]);
  expect(problems.map(({ code }) => code)).toEqual(codes);
  expect([ok, isRecoverable]).toEqual([codes.length === 0, false]);
});

test('an empty spec is the only problem of a pool without configs', () => {
  const { problems } = checkAll([NODE], [WORKER, inspectedPool('infra', {})], [NEW]);
  expect(problems).toMatchObject([{ code: 'SpecEmpty', recoverable: true }]);
});

const UNMANAGED = 'the Machine Config Operator manages no node';

test.each([
  [0, 1, undefined, [], 'the cluster has no nodes'],
  [0, 1, 'role/wroker', [], 'no node has label role/wroker. Roles here: master, worker'],
  [0, 1, undefined, ['windows-0'], `${UNMANAGED} in the cluster`],
  [0, 1, 'os=windows', ['windows-0'], `${UNMANAGED} with label os=windows`],
  [1, 2, 'role/worker', ['windows-0'], 'only 1 node with label role/worker, 2 are required'],
  [2, 3, undefined, [], 'only 2 nodes in the cluster, 3 are required'],
])(
  'reports too few nodes: %i of %i with the selector %j, without %j: %s',
  (count, minNodes, selector, skippedNodes, message) => {
    const nodes = [NODE, NODE].slice(0, count);
    const roles = ['master', 'worker'];
    const cluster = { ...snapshot(nodes, [WORKER], [NEW]), roles, skippedNodes };
    const result = checkConsistency(cluster, { selector, minNodes }, NOW);
    expect(result).toMatchObject({
      ok: false,
      isRecoverable: true,
      problems: [{ code: 'TooFewNodes', message }],
    });
  },
);

test('assigns a node to master, else a custom pool, else worker, else the pool of its config', () => {
  const pools = ['worker', 'infra', 'master'].map((name) => inspectedPool(name, { spec: NEW, status: NEW }));
  const node = inspectedNode('n', { current: OLD, desired: INFRA });
  const nodes = [['worker', 'infra', 'master'], ['worker', 'infra'], ['worker'], []].map((roles) => {
    const labels = Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, '']));
    return { ...node, labels };
  });
  const assigned = checkAll(nodes, pools, [OLD, NEW, INFRA]).nodes.map(({ pool }) => pool);
  expect(assigned).toEqual(['master', 'infra', 'worker', 'infra']);
});

const config = fc.option(fc.constantFrom(...NAMES), { nil: undefined });
const role = fc.constantFrom('worker', 'master', 'infra-a.b');
const anyNode = fc.record({ current: config, desired: config, role });
const anyPool = fc.record({
  spec: config,
  status: config,
  terminating: fc.boolean(),
  ageMinutes: fc.constantFrom(10, 60),
});

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
          // The status of a young custom pool may be empty.
          ...live.flatMap(([pool, { spec, status, ageMinutes }]) =>
            pool === 'infra-a.b' && status === undefined && ageMinutes < 30 ? [spec] : [spec, status],
          ),
        ];
        const isMissing = (name: string | undefined) => name !== undefined && !existing.includes(name as never);
        const isRendered = (name: string) =>
          live.some(([, { spec }]) => spec === name) ||
          (parsePoolName(name as never) !== undefined &&
            (live.length === 0 ||
              live.some(([pool, { spec }]) => pool === parsePoolName(name as never) && spec === undefined)));

        const result = checkAll(
          nodeOptions.map((options, index) => inspectedNode(`n${index}`, options)),
          Object.entries(poolOptions).map(([name, options]) => inspectedPool(name, options)),
          existing,
        );

        expect(result.ok).toBe(named.every((name) => name !== undefined && !isMissing(name)));
        const isUnrecoverable = named.some((name) => name !== undefined && isMissing(name) && !isRendered(name));
        expect(result.isRecoverable).toBe(!result.ok && !isUnrecoverable);
        for (const { suggestion } of result.problems) if (suggestion !== null) expect(existing).toContain(suggestion);
      },
    ),
    { numRuns: 500 },
  );
});
