import { expect, test } from 'vitest';
import { findPoolOfNode, isManagedByOperator, matchesNodeSelector } from '../../src/references/node-pool.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/sources.ts';

const POOLS = ['infra', 'master', 'rt', 'worker'].map((name) => ({
  referrer: { name, nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } } },
}));

/** As in GetPoolsForNode of machine-config-operator, pkg/helpers/helpers.go. */
test.each([
  ['worker', 'worker', ''],
  ['infra worker', 'infra', ''],
  ['infra', 'infra', ''],
  ['master worker', 'master', ''],
  ['infra master', 'master', ''],
  ['infra rt worker', undefined, 'infra rt'],
  ['infra master rt', undefined, 'infra rt'],
  ['', undefined, ''],
  ['gpu', undefined, ''],
])('a node with the roles "%s" is in pool %s; conflicting: %s', (roles, expected, conflicts) => {
  const labels = Object.fromEntries(roles.split(' ').map((role) => [`node-role.kubernetes.io/${role}`, '']));
  const { pool, conflicting } = findPoolOfNode(labels, POOLS);
  expect([pool?.referrer.name, conflicting.map(({ referrer }) => referrer.name).join(' ')]).toEqual([
    expected,
    conflicts,
  ]);
  expect(findPoolOfNode({ ...labels, 'kubernetes.io/os': 'windows' }, POOLS)).toEqual({
    conflicting: [],
    selecting: [],
  });
});

const MCO = 'machineconfiguration.openshift.io';
const WORKER = { 'node-role.kubernetes.io/worker': '' };
const WINDOWS = { ...WORKER, 'kubernetes.io/os': 'windows' };
const POOL = parsePoolReferrer({ metadata: { name: 'worker' }, spec: { nodeSelector: { matchLabels: WORKER } } });
const [NO_POOLS, ONE_POOL] = [[], [POOL]];

test.each([
  ['selected by a pool', WORKER, {}, ONE_POOL, true],
  ['selected by no pool', { zone: 'a' }, {}, ONE_POOL, false],
  ['without labels', undefined, {}, ONE_POOL, false],
  ['of a cluster without pools', { zone: 'a' }, {}, NO_POOLS, true],
  ['Windows', WINDOWS, {}, ONE_POOL, false],
  ['selected by no pool, with a config', { zone: 'a' }, { currentConfig: 'x' }, ONE_POOL, true],
  ['selected by no pool, with another annotation', {}, { state: 'Done' }, ONE_POOL, true],
  ['Windows, with a config', WINDOWS, { desiredConfig: 'x' }, ONE_POOL, true],
  ['Windows, with a weak reference', WINDOWS, { firstPivotConfig: 'x' }, ONE_POOL, true],
])('a node that is %s: %j %j', (_case, labels, annotations, pools, isManaged) => {
  const all = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]));
  const node = parseNodeReferrer({ metadata: { name: 'n', labels: labels ?? null, annotations: all } });
  expect(isManagedByOperator(node, pools)).toBe(isManaged);
});

test('pools and builds always count', () => {
  expect(isManagedByOperator(POOL, [POOL])).toBe(true);
  expect(isManagedByOperator({ kind: 'MachineOSBuild', name: 'b', references: [] }, [POOL])).toBe(true);
});

const LABELS = { 'node-role.kubernetes.io/worker': '', zone: 'a' };

const toExpression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

test.each<[unknown, boolean]>([
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '' } }, true],
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '', zone: 'b' } }, false],
  [{ matchLabels: { zone: 'a' }, ...toExpression('rack', 'Exists') }, false],
  [toExpression('zone', 'In', 'a', 'b'), true],
  [toExpression('zone', 'In', 'b'), false],
  [toExpression('zone', 'NotIn', 'b'), true],
  [toExpression('zone', 'NotIn', 'a'), false],
  [toExpression('rack', 'NotIn', 'a'), true],
  [toExpression('zone', 'Exists'), true],
  [toExpression('rack', 'DoesNotExist'), true],
  [toExpression('zone', 'DoesNotExist'), false],
  // Empty or malformed.
  [undefined, false],
  [null, false],
  [{ matchLabels: {} }, false],
  [{ matchExpressions: [{ operator: 'Exists' }] }, false],
  [7, false],
])('whether %j matches a worker: %s', (selector, matches) => {
  expect(matchesNodeSelector(selector, LABELS)).toBe(matches);
});
