import { expect, test } from 'vitest';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { check, inspectedNode, inspectedPool, MASTER, MISSING, WORKER } from './checked-cluster.ts';

const MCO = 'machineconfiguration.openshift.io';
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };
const HEALTHY = inspectedNode('n', { current: WORKER, desired: WORKER });
const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const MASTERS = inspectedPool('master', { spec: MASTER, status: MASTER });

/** The commands. Alternatives begin with `#`. */
function plan(...args: Parameters<typeof check>): string[] {
  const formatter = new CommandFormatter('machineconfig-guard', {});
  return check(...args).repairs.map(
    ({ alternative, command }) => `${alternative ? '# ' : ''}${command === null ? '' : formatter.toLine(command)}`,
  );
}

const restore = (config: string, node: string) => `machineconfig-guard restore ${config} --from node/${node}`;
const annotate = (node: string, ...configs: string[]) => `# oc annotate node ${node} --overwrite ${configs.join(' ')}`;

test('restores the missing config first, replaces annotations last, and sets no state', () => {
  const nodes = [inspectedNode('control1', STUCK), inspectedNode('control2', STUCK)];
  const requests = ['csr-a', 'csr-b'].map((name) => ({ name, node: null, signer: '', createdAt: null }));
  expect(plan(nodes, [inspectedPool('master', { spec: MASTER })], { requests: { requests } })).toEqual([
    restore(MISSING, 'control1'),
    'oc adm certificate approve csr-a csr-b',
    annotate('control1 control2', `${MCO}/currentConfig=${MASTER}`, `${MCO}/desiredConfig=${MASTER}`),
  ]);
});

test('reads the missing config from a node that runs it, and does not repair a pool that can recover', () => {
  const control1 = inspectedNode('control1', { current: MASTER, desired: MISSING, role: 'master' });
  const nodes = [control1, inspectedNode('control2', STUCK), HEALTHY];
  expect(plan(nodes, [MASTERS, inspectedPool('worker', { spec: WORKER })])).toEqual([
    restore(MISSING, 'control2'),
    annotate('control1', `${MCO}/desiredConfig=${MASTER}`),
    annotate('control2', `${MCO}/currentConfig=${MASTER}`, `${MCO}/desiredConfig=${MASTER}`),
  ]);
});

test('sets the status of a pool whose nodes name existing configs', () => {
  const status = 'rendered-worker-ffff6c1264c64bbbbae911d2371aaaa0';
  expect(plan([HEALTHY], [inspectedPool('worker', { spec: WORKER, status })])).toEqual([
    'oc patch machineconfigpool worker --subresource=status --type=merge ' +
      `-p '{"status":{"configuration":{"name":"${WORKER}"}}}'`,
  ]);
});

test.each([
  ['prefix', WORKER.replace('rendered', 'render'), false],
  ['pool', WORKER.replace('worker', 'wroker'), true],
])('repairs only the annotation with a misspelled %s, with the nearest name', (_part, typo, canExist) => {
  const newer = 'rendered-worker-ffffbe6c1264c64551ae911d23717173';
  const nodes = [inspectedNode('worker0', { current: newer, desired: typo })];
  const pools = [inspectedPool('worker', { spec: newer, status: newer })];
  expect(plan(nodes, pools, { configs: [WORKER, newer] })).toEqual([
    // It could be the name of a config of a pool that no longer exists.
    ...(canExist ? [restore(typo, 'worker0')] : []),
    annotate('worker0', `${MCO}/desiredConfig=${WORKER}`),
  ]);
});

test.each([
  ['everything is consistent', HEALTHY, POOL],
  ['the problem is recoverable', inspectedNode('n', {}), POOL],
  ['a pool is paused by a person', HEALTHY, { ...POOL, paused: true }],
])('repairs nothing if %s', (_condition, node, pool) => {
  const requests = [{ name: 'csr-a', node: null, signer: '', createdAt: null }];
  expect(plan([node], [pool], { requests: { requests } })).toEqual([]);
});

test.each([
  ['replaces no annotation if no config is left for the node', MISSING, [restore(MISSING, 'n')]],
  ['restores no config whose name cannot be that of a rendered config', 'other', []],
])('%s', (_title, name, expected) => {
  const pool = inspectedPool('worker', { spec: 'rendered-worker-gone', status: WORKER });
  expect(plan([inspectedNode('n', { current: name, desired: name })], [pool])).toEqual(expected);
});

const UNPAUSE =
  'oc patch machineconfigpool worker --type=merge -p ' +
  `'{"metadata":{"annotations":{"machineconfig-guard.io/paused-for-restore":null}},"spec":{"paused":false}}'`;
const UNMARK = 'oc annotate machineconfigpool worker machineconfig-guard.io/paused-for-restore-';
const STARTED = inspectedNode('n', { current: MISSING, desired: MISSING });
const PAUSED = { ...inspectedPool('worker', { spec: WORKER }), paused: true, pausedFor: MISSING };

test.each([
  ['has paused a pool that is fine', HEALTHY, { ...POOL, paused: true, pausedFor: MISSING }, [], [UNPAUSE]],
  ['has left its mark on a pool that a person has unpaused', HEALTHY, { ...POOL, pausedFor: MISSING }, [], [UNMARK]],
  ['has created its config', STARTED, PAUSED, [MISSING], [`${restore(MISSING, 'n')} --confirm`, `# ${UNPAUSE}`]],
  ['has only paused its pool', STARTED, PAUSED, [], [restore(MISSING, 'n'), `# ${UNPAUSE}`]],
])('ends a restore that was killed and %s', (_state, node, pool, created, expected) => {
  const repairs = plan([node], [pool], { configs: [WORKER, ...created] });
  expect(repairs.slice(0, expected.length)).toEqual(expected);
});

test('offers only the restore of a config that the guard has seen, although a similar name exists', () => {
  const deleted = `${WORKER.slice(0, -1)}0`;
  const node = inspectedNode('n', { current: WORKER, desired: deleted });
  const planWith = (report: object) => plan([node], [POOL], { guard: { [deleted]: report } });
  const typo = annotate('n', `${MCO}/desiredConfig=${WORKER}`);
  expect(planWith({ deletedAt: '2026-11-20T12:00:00Z' })).toEqual([restore(deleted, 'n')]);
  expect(planWith({ explanation: 'not seen' })).toEqual([restore(deleted, 'n'), typo]);
});

test('has no command for a name that no object can have', () => {
  const hostile = 'rendered-worker\u001B]52;c;cm0gLXJmIH4=\u0007-25a1be6c1264c64551ae911d23717173';
  const pool = { ...POOL, paused: true, pausedFor: hostile };
  const node = inspectedNode('n', { current: hostile, desired: hostile });
  expect(plan([node], [pool]).join('')).not.toMatch(/52;c|restore r/);
});
