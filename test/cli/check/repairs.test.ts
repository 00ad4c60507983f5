import { expect, test } from 'vitest';
import { checkConsistency } from '../../../src/cli/check/consistency.ts';
import { type InspectedNode, type InspectedPool } from '../../../src/client/cluster-snapshot.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { planRepairs } from '../../../src/cli/check/repairs.ts';
import { MASTER, MISSING, WORKER } from './reports.ts';
import { EVERYTHING, inspectedNode, inspectedPool, names, NOW, snapshot } from './snapshot.ts';

const MCO = 'machineconfiguration.openshift.io';
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };

function commands(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  configs: readonly string[],
  requests: readonly string[] = [],
  explanations: ReadonlyMap<string, string> = new Map(),
): string[] {
  const result = checkConsistency(snapshot(nodes, pools, configs), EVERYTHING, NOW, explanations);
  const formatter = new CommandFormatter('machineconfig-guard', {});
  return planRepairs(result, names(configs), requests).map(
    (repair) => `${repair.alternative ? '# ' : ''}${formatter.toClause(repair).replace(/^[^]*?: (?=oc |machine)/, '')}`,
  );
}

test('restores the missing config first, and replaces annotations last', () => {
  const nodes = [inspectedNode('control1', STUCK), inspectedNode('control2', STUCK)];
  expect(commands(nodes, [inspectedPool('master', { spec: MASTER })], [MASTER], ['csr-a', 'csr-b'])).toEqual([
    `machineconfig-guard restore ${MISSING} --from node/control1`,
    'oc adm certificate approve csr-a csr-b',
    `# oc annotate node control1 control2 --overwrite ${MCO}/currentConfig=${MASTER} ` +
      `${MCO}/desiredConfig=${MASTER}`,
  ]);
});

test('reads the missing config from a node that runs it', () => {
  const nodes = [
    inspectedNode('control1', { current: MASTER, desired: MISSING, role: 'master' }),
    inspectedNode('control2', STUCK),
  ];
  const pool = inspectedPool('master', { spec: MASTER, status: MASTER });
  expect(commands(nodes, [pool], [MASTER])[0]).toBe(`machineconfig-guard restore ${MISSING} --from node/control2`);
});

test('sets the status of a pool whose nodes name existing configs', () => {
  const nodes = [inspectedNode('worker0', { current: WORKER, desired: WORKER })];
  const gone = WORKER.replace('25a1', 'ffff').replace('7173', 'aaaa').replace('51ae', 'bbbb');
  expect(commands(nodes, [inspectedPool('worker', { spec: WORKER, status: gone })], [WORKER])).toEqual([
    'oc patch machineconfigpool worker --subresource=status --type=merge ' +
      `-p '{"status":{"configuration":{"name":"${WORKER}"}}}'`,
  ]);
});

test.each([
  ['prefix', WORKER.replace('rendered', 'render'), false],
  ['pool', WORKER.replace('worker', 'wroker'), true],
])('repairs only the annotation with a misspelled %s, with the nearest name', (_part, typo, canExist) => {
  const newer = 'rendered-worker-ffffbe6c1264c64551ae911d23717173';
  const pool = inspectedPool('worker', { spec: newer, status: newer });
  expect(commands([inspectedNode('worker0', { current: newer, desired: typo })], [pool], [WORKER, newer])).toEqual([
    // It could be the name of a config of a pool that no longer exists.
    ...(canExist ? [`machineconfig-guard restore ${typo} --from node/worker0`] : []),
    `# oc annotate node worker0 --overwrite ${MCO}/desiredConfig=${WORKER}`,
  ]);
});

test('does not repair a pool that can recover', () => {
  const nodes = [inspectedNode('control1', STUCK), inspectedNode('worker0', { current: WORKER, desired: WORKER })];
  const pools = [inspectedPool('master', { spec: MASTER, status: MASTER }), inspectedPool('worker', { spec: WORKER })];
  expect(commands(nodes, pools, [MASTER, WORKER])).toEqual([
    expect.stringMatching(/^machineconfig-guard restore /),
    expect.stringMatching(/^# oc annotate node control1 --overwrite /),
  ]);
});

test.each([
  ['everything is consistent', { current: WORKER, desired: WORKER }, WORKER, ['csr-a']],
  ['the problem is recoverable', {}, WORKER, ['csr-a']],
])('repairs nothing if %s', (_condition, configs, spec, requests) => {
  const pool = inspectedPool('worker', { spec, status: WORKER });
  expect(commands([inspectedNode('n', configs)], [pool], [WORKER], requests)).toEqual([]);
});

test('replaces no annotation if no config is left for the node', () => {
  const pool = inspectedPool('worker', { spec: 'rendered-worker-gone', status: WORKER });
  const node = inspectedNode('n', { current: MISSING, desired: MISSING });
  expect(commands([node], [pool], [WORKER])).toEqual([`machineconfig-guard restore ${MISSING} --from node/n`]);
});

test('restores no config whose name cannot be that of a rendered config', () => {
  const pool = inspectedPool('worker', { spec: 'rendered-worker-gone', status: WORKER });
  const node = inspectedNode('n', { current: 'other', desired: 'other' });
  expect(commands([node], [pool], [WORKER])).toEqual([]);
});

test('unpauses a pool that a killed restore has paused, even if everything is consistent', () => {
  const pool = { ...inspectedPool('worker', { spec: WORKER, status: WORKER }), paused: true };
  const nodes = [inspectedNode('n', { current: WORKER, desired: WORKER })];
  expect(commands(nodes, [pool], [WORKER])).toEqual([]);
  expect(commands(nodes, [{ ...pool, pausedFor: MISSING }], [WORKER])).toEqual([
    'oc patch machineconfigpool worker --type=merge -p ' +
      `'{"metadata":{"annotations":{"machineconfig-guard.io/paused-for-restore":null}},"spec":{"paused":false}}'`,
  ]);
});

test('removes the mark of a restore from a pool that a person has unpaused', () => {
  const pool = { ...inspectedPool('worker', { spec: WORKER, status: WORKER }), pausedFor: MISSING };
  const nodes = [inspectedNode('n', { current: WORKER, desired: WORKER })];
  expect(commands(nodes, [pool], [WORKER])).toEqual([
    'oc annotate machineconfigpool worker machineconfig-guard.io/paused-for-restore-',
  ]);
});

test('continues a restore that has created its config, before it unpauses the pool', () => {
  const pool = { ...inspectedPool('worker', { spec: WORKER }), paused: true, pausedFor: MISSING };
  const nodes = [inspectedNode('n', { current: MISSING, desired: MISSING, role: 'worker' })];
  expect(commands(nodes, [pool], [WORKER, MISSING])).toEqual([
    `machineconfig-guard restore ${MISSING} --from node/n --confirm`,
    expect.stringContaining('"paused":false'),
  ]);
  expect(commands(nodes, [pool], [WORKER]).slice(0, 2)).toEqual([
    `machineconfig-guard restore ${MISSING} --from node/n`,
    expect.stringContaining('"paused":false'),
  ]);
});

test('offers only the restore of a config that the guard has seen, although a similar name exists', () => {
  const deleted = `${WORKER.slice(0, -1)}0`;
  const pool = inspectedPool('worker', { spec: WORKER, status: WORKER });
  const node = inspectedNode('n', { current: WORKER, desired: deleted });
  const plan = (explanation: string) => commands([node], [pool], [WORKER], [], new Map([[deleted, explanation]]));
  const restore = `machineconfig-guard restore ${deleted} --from node/n`;
  expect(plan('deleted at 2026-11-20T12:00:00Z')).toEqual([restore]);
  expect(plan('not seen')).toEqual([restore, `# oc annotate node n --overwrite ${MCO}/desiredConfig=${WORKER}`]);
});

test('has no command for a name that no object can have', () => {
  const hostile = 'rendered-worker\u001B]52;c;cm0gLXJmIH4=\u0007-25a1be6c1264c64551ae911d23717173';
  const pool = {
    ...inspectedPool('worker', { spec: WORKER, status: WORKER }),
    paused: true,
    pausedFor: hostile,
  };
  const node = inspectedNode('n', { current: hostile, desired: hostile });
  expect(commands([node], [pool], [WORKER]).join('')).not.toMatch(/52;c|restore r/);
});

test('quotes names for the shell', () => {
  const pool = inspectedPool('master', { spec: MASTER, status: MASTER });
  expect(commands([inspectedNode("n'$(reboot)", STUCK)], [pool], [MASTER])).toEqual([
    `machineconfig-guard restore ${MISSING} --from 'node/n'\\''$(reboot)'`,
    expect.stringContaining(`oc annotate node 'n'\\''$(reboot)' --overwrite`),
  ]);
});
