import { expect, test } from 'vitest';
import {
  checkConsistency,
  type InspectedNode,
  type InspectedPool,
} from '../../src/inspect/consistency.ts';
import { planRepairs } from '../../src/inspect/repairs.ts';
import { MASTER, MISSING, WORKER } from '../cli/check/reports.ts';
import { EVERYTHING, inspectedNode, inspectedPool, names, snapshot } from './snapshot.ts';

const MCO = 'machineconfiguration.openshift.io';
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };

function commands(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  configs: readonly string[],
  requests: readonly string[] = [],
): string[] {
  const result = checkConsistency(snapshot(nodes, pools, configs), EVERYTHING);
  return planRepairs(result, names(configs), requests).map(({ command }) => command.flat().join(' '));
}

test('repairs a pool, its nodes and certificate requests', () => {
  const nodes = [inspectedNode('control1', STUCK), inspectedNode('control2', STUCK)];
  expect(
    commands(nodes, [inspectedPool('master', { spec: MASTER })], [MASTER], ['csr-a', 'csr-b']),
  ).toEqual([
    'oc patch machineconfigpool master --subresource=status --type=merge ' +
      `-p '{"status":{"configuration":{"name":"${MASTER}"}}}'`,
    `oc annotate node control1 control2 --overwrite ${MCO}/currentConfig=${MASTER} ` +
      `${MCO}/desiredConfig=${MASTER} ${MCO}/state=Done`,
    'oc adm certificate approve csr-a csr-b',
  ]);
});

test('repairs only the misspelled annotation, with the nearest name', () => {
  const typo = WORKER.replace('rendered', 'render');
  const newer = 'rendered-worker-ffffbe6c1264c64551ae911d23717173';
  const pool = inspectedPool('worker', { spec: newer, status: newer });
  expect(
    commands([inspectedNode('worker0', { current: newer, desired: typo })], [pool], [WORKER, newer]),
  ).toEqual([`oc annotate node worker0 --overwrite ${MCO}/desiredConfig=${WORKER}`]);
});

test('does not repair a pool that can recover', () => {
  const nodes = [
    inspectedNode('control1', STUCK),
    inspectedNode('worker0', { current: WORKER, desired: WORKER }),
  ];
  const pools = [
    inspectedPool('master', { spec: MASTER, status: MASTER }),
    inspectedPool('worker', { spec: WORKER }),
  ];
  expect(commands(nodes, pools, [MASTER, WORKER])).toEqual([
    expect.stringMatching(/^oc annotate node control1 --overwrite /),
  ]);
});

test.each([
  ['everything is consistent', { current: WORKER, desired: WORKER }, WORKER, ['csr-a']],
  ['the problem is recoverable', {}, WORKER, ['csr-a']],
  ['no config is left for the node', { current: MISSING, desired: MISSING }, 'rendered-worker-gone', []],
])('repairs nothing if %s', (_condition, configs, spec, requests) => {
  const pool = inspectedPool('worker', { spec, status: WORKER });
  expect(commands([inspectedNode('n', configs)], [pool], [WORKER], requests)).toEqual([]);
});

test('quotes names for the shell', () => {
  const pool = inspectedPool('master', { spec: MASTER, status: MASTER });
  expect(commands([inspectedNode("n'$(reboot)", STUCK)], [pool], [MASTER])).toEqual([
    expect.stringContaining(`oc annotate node 'n'\\''$(reboot)' --overwrite`),
  ]);
});
