import { expect, test } from 'vitest';
import { isManagedByOperator } from '../../src/references/node-pool.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

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
  ['Windows, of a cluster without pools', WINDOWS, {}, NO_POOLS, false],
  ['selected by no pool, with a config', { zone: 'a' }, { currentConfig: 'x' }, ONE_POOL, true],
  ['selected by no pool, with another annotation', {}, { state: 'Done' }, ONE_POOL, true],
  ['Windows, with a config', WINDOWS, { desiredConfig: 'x' }, ONE_POOL, true],
  ['Windows, with a weak reference', WINDOWS, { firstPivotConfig: 'x' }, ONE_POOL, true],
  ['Windows, with another annotation', WINDOWS, { state: 'Done' }, ONE_POOL, true],
])('a node that is %s: %j %j', (_case, labels, annotations, pools, isManaged) => {
  const all = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]));
  const node = parseNodeReferrer({ metadata: { name: 'n', labels: labels ?? null, annotations: all } });
  expect(isManagedByOperator(node, pools)).toBe(isManaged);
});

test('pools and builds always count', () => {
  expect(isManagedByOperator(POOL, [POOL])).toBe(true);
  expect(isManagedByOperator({ kind: 'MachineOSBuild', name: 'b', references: [] }, [POOL])).toBe(true);
});
