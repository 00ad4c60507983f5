import { expect, test } from 'vitest';
import { findPoolOfNode } from '../../src/references/node-pool.ts';

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
