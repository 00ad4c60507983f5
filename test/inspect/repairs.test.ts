import { describe, expect, test } from 'vitest';
import { checkConsistency } from '../../src/inspect/consistency.ts';
import { planRepairs } from '../../src/inspect/repairs.ts';
import { EVERYTHING, inspectedNode, inspectedPool, names, snapshot } from './snapshot.ts';

const MCO = 'machineconfiguration.openshift.io';
const MISSING = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
const MASTER = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };

function commands(
  nodes: ReturnType<typeof inspectedNode>[],
  pools: ReturnType<typeof inspectedPool>[],
  configs: readonly string[],
  requests: readonly string[] = [],
): string[] {
  const judged = checkConsistency(snapshot(nodes, pools, configs), EVERYTHING);
  return planRepairs(judged, names(configs), requests).map(({ command }) => command.flat().join(' '));
}

test("the pool's status, the nodes' annotations, the certificate requests", () => {
  expect(
    commands(
      [inspectedNode('control1', STUCK), inspectedNode('control2', STUCK)],
      [inspectedPool('master', { spec: MASTER })],
      [MASTER],
      ['csr-a', 'csr-b'],
    ),
  ).toEqual([
    `oc patch machineconfigpool master --subresource=status --type=merge -p '{"status":{"configuration":{"name":"${MASTER}"}}}'`,
    `oc annotate node control1 control2 --overwrite ${MCO}/currentConfig=${MASTER} ${MCO}/desiredConfig=${MASTER} ${MCO}/state=Done`,
    'oc adm certificate approve csr-a csr-b',
  ]);
});

test('only the annotation that is wrong; a misspelt one becomes what was meant', () => {
  const typo = WORKER.replace('rendered', 'render');
  const newer = 'rendered-worker-ffffbe6c1264c64551ae911d23717173';
  expect(
    commands(
      [inspectedNode('worker0', { current: newer, desired: typo })],
      [inspectedPool('worker', { spec: newer, status: newer })],
      [WORKER, newer],
    ),
  ).toEqual([`oc annotate node worker0 --overwrite ${MCO}/desiredConfig=${WORKER}`]);
});

test('a pool that is on its way is left alone, whatever is wrong with another', () => {
  const nodes = [inspectedNode('control1', STUCK), inspectedNode('worker0', { current: WORKER, desired: WORKER })];
  const pools = [inspectedPool('master', { spec: MASTER, status: MASTER }), inspectedPool('worker', { spec: WORKER })];
  expect(commands(nodes, pools, [MASTER, WORKER])).toEqual([
    expect.stringMatching(/^oc annotate node control1 --overwrite /),
  ]);
});

describe('none', () => {
  test.each([
    ['where all is fine', [inspectedNode('n', { current: WORKER, desired: WORKER })], WORKER],
    ['where waiting may heal it', [inspectedNode('n', {})], WORKER],
    [
      'where there is no config to go to',
      [inspectedNode('n', { current: MISSING, desired: MISSING })],
      'rendered-worker-gone',
    ],
  ])('%s', (_what, nodes, spec) => {
    expect(commands(nodes, [inspectedPool('worker', { spec, status: WORKER })], [WORKER])).toEqual([]);
  });

  test('certificate requests alone are no reason to approve any', () => {
    const nodes = [inspectedNode('n', {})];
    expect(commands(nodes, [inspectedPool('worker', { spec: WORKER, status: WORKER })], [WORKER], ['csr-a'])).toEqual(
      [],
    );
  });
});

test('what a shell would read is quoted', () => {
  const judged = checkConsistency(
    snapshot(
      [inspectedNode("n'$(reboot)", STUCK)],
      [inspectedPool('master', { spec: MASTER, status: MASTER })],
      [MASTER],
    ),
    EVERYTHING,
  );
  const [repair] = planRepairs(judged, names([MASTER]), []);
  expect(repair?.command[0]).toEqual(['oc', 'annotate', 'node', `'n'\\''$(reboot)'`, '--overwrite']);
});
