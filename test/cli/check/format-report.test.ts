import { expect, test } from 'vitest';
import { formatCheckReport, formatProblemNames, formatProgress } from '../../../src/cli/check/format-report.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { formatJson } from '../../../src/client/output/output.ts';
import {
  check,
  checkIncidentB,
  inspectedNode,
  inspectedPool,
  MASTER,
  MISSING,
  WORKER,
} from '../../diagnosis/checked-cluster.ts';

const commands = new CommandFormatter('machineconfig-guard', { kubeconfig: '/home/alice/lab.yaml' });
const NARROW = { width: 80, hasColors: false, columns: 80, commands };
const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const TYPO = WORKER.replace('rendered', 'render');
const healthyNode = (name: string) => inspectedNode(name, { current: WORKER, desired: WORKER });

function format(...args: Parameters<typeof check>): string {
  return formatCheckReport(NARROW, check(...args));
}

/** The text without line breaks. */
function unwrap(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

test('formats all parts of a report, with the repair commands of the JSON', () => {
  const label = 'master-553d5d52';
  const report = checkIncidentB();
  const text = formatCheckReport(NARROW, report);
  expect(text).toMatch(new RegExp(`^control1\\.gw\\.lo +master +Degraded +${label} +${label} +both missing$`, 'm'));
  expect(text).toMatch(/^worker0\.gw\.lo +worker +Done +\S+ +\S+ +ok$/m);
  expect(text).toMatch(/^master +1 +0 +\S+ +<none> +status empty$/m);
  expect(unwrap(text)).toContain(`${MISSING} does not exist; nodes control1.gw.lo and control2.gw.lo name it.`);
  expect(unwrap(text)).toContain('Pool master has an empty status.configuration.name');
  expect(text).toContain('\n- control1.gw.lo and control2.gw.lo:\n  > missing MachineConfig');
  expect(text).toMatch(/^csr-8vnps +12m +kube-apiserver-client-kubelet +control0\.gw\.lo$/m);
  expect(text).toMatch(/\nNot fine: problems with 2 of 4 nodes and 1 of 2 pools\. Waiting does not help\.\n$/);
  const names = [
    'node/control1.gw.lo',
    'node/control2.gw.lo',
    'machineconfigpool.machineconfiguration.openshift.io/master',
  ];
  expect(formatProblemNames(report)).toBe(`${names.join('\n')}\n`);
  expect(formatCheckReport({ ...NARROW, hasColors: true }, report)).toContain('\u001B[31mboth missing\u001B[39m');
  const printed = text.match(/(?<=^ {2}(?:# )?)(?:oc|machineconfig-guard) .*$/gm);
  const { repairs } = JSON.parse(formatJson(report, commands)) as { repairs: readonly { command: string }[] };
  expect(printed).toEqual(repairs.map(({ command }) => command));
  expect(printed).toHaveLength(3);
});

test.each([
  ['n', undefined, 'both missing', 'NODE POOL STATE CURRENT DESIRED CHECK'],
  ['control1.example.com', undefined, 'both missing', 'NODE POOL STATE CURRENT CHECK'],
  [`n${'0'.repeat(62)}`, undefined, 'both missing', 'NODE POOL CHECK'],
  ['control1.example.com', '', 'current missing, no desired yet', 'NODE POOL STATE CHECK'],
])('in 80 columns, the table of node %s keeps the column CHECK whole', (name, desired = MISSING, summary, header) => {
  const node = inspectedNode(name, { current: MISSING, desired, role: 'master', state: 'Degraded' });
  const lines = format([node], [inspectedPool('master', { spec: MASTER, status: MASTER })]).split('\n');
  expect(lines[0]?.split(/ +/).join(' ')).toBe(header);
  expect(lines[1]).toMatch(new RegExp(`^${name} .* ${summary}$`));
  expect(lines[1]?.length).toBeLessThanOrEqual(Math.max(80, name.length + 22));
});

test('says that every config exists if nodes are Degraded for another reason', () => {
  const reason = 'failed to drain node';
  const nodes = ['a', 'b'].map((name) =>
    inspectedNode(name, { current: WORKER, desired: WORKER, state: 'Degraded', reason }),
  );
  const text = unwrap(
    format([healthyNode('n'), ...nodes], [{ ...POOL, paused: true, pausedSince: new Date('2026-11-10') }]),
  );
  expect(text).toContain('a worker Degraded worker-25a1be6c worker-25a1be6c Degraded');
  expect(text).toContain('worker 1 1 worker-25a1be6c worker-25a1be6c ok, paused 10d');
  expect(text).toContain('Nodes a and b are Degraded, although the configs exist.');
  expect(text).toContain('- a and b: > failed to drain node');
  expect(text).toContain('Not fine: problems with 2 of 3 nodes. Every config that they reference exists. Waiting can');
});

test('combines nodes with the same problem, names each one of a node, and shows healthy nodes last', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => inspectedNode(name, {}));
  const text = format([healthyNode('0'), ...nodes, inspectedNode('x', { current: MISSING })], [POOL]);
  expect(text).toMatch(/^x +worker .* current missing, no desired yet$/m);
  expect(unwrap(text)).toContain('Node x has not reported a desiredConfig yet.');
  expect(unwrap(text)).toContain('Nodes a, b, c and 2 more have not reported a configuration yet.');
  const rows = text.split('\n').filter((line) => /^\w+ +worker /.test(line));
  expect(rows.map((row) => row[0])).toEqual(['a', 'b', 'c', 'd', 'e', 'x', '0']);
});

const NO_SPEC = `does not exist; node n names it. No pool's spec names it, so waiting does not help.`;
const deletedAt = '2026-11-20T11:58:00Z';

test.each([
  [
    { explanation: 'The guard has not seen it' },
    `${NO_SPEC} Closest existing name: ${WORKER}. The guard has not seen it.`,
  ],
  [{ explanation: 'x', deletedAt }, `The guard saw its deletion at ${deletedAt}.`],
  [{ deletedAt, deletedBy: 'ci:pruner\u001B[2J' }, `The guard allowed "ci:pruner [2J" to delete it at ${deletedAt}.`],
])('explains a missing config about which the guard knows %j', (report, sentences) => {
  const nodes = [
    inspectedNode('n', { current: MASTER, desired: TYPO }),
    inspectedNode('m', { current: MISSING, desired: MISSING }),
  ];
  const pools = [POOL, inspectedPool('master', { spec: MISSING })];
  const text = unwrap(format(nodes, pools, { guard: { [TYPO]: report } }));
  expect(text).toContain(sentences);
  expect(text).toContain('node m and pool master name it. The Machine Config Operator can still render it.');
});

test('explains a config in use and being deleted, without repair commands', () => {
  const nodes = [
    inspectedNode('m', { current: MISSING, desired: MISSING }),
    inspectedNode('n', { current: WORKER, desired: MISSING }),
  ];
  const terminating = { terminatingConfigs: [MISSING] };
  const text = format(nodes, [inspectedPool('worker', { spec: WORKER, status: MISSING })], terminating);
  expect(text).toMatch(/^m +worker .* both being deleted$/m);
  expect(text).toMatch(/^n +worker .* desired being deleted$/m);
  expect(text).toMatch(/^worker +1 .* status being deleted$/m);
  expect(unwrap(text)).toContain(
    `${MISSING} is in use and being deleted; nodes m and n and pool worker name it. Move the referrers ` +
      'to another config before the finalizers are removed, or keep the finalizers. Not fine:',
  );
});

test.each([
  [false, 'Waiting can help (--wait).'],
  [true, 'Waited 2m.'],
])('concludes a recoverable problem (hasWaited: %s) with "%s"', (hasWaited, sentence) => {
  const report = check([inspectedNode('n', {})], [POOL]);
  const text = formatCheckReport(NARROW, { ...report, waitedSeconds: 125 }, hasWaited);
  expect(text.endsWith(`\nNot fine: problems with 1 of 1 node. ${sentence}\n`)).toBe(true);
});

test('explains a pool that is paused for a restore, and does not conclude that waiting cannot help', () => {
  const text = format([healthyNode('n')], [{ ...POOL, paused: true, pausedFor: MISSING }]);
  expect(text).toMatch(/^worker .* paused for restore$/m);
  expect(unwrap(text)).toContain(
    `Pool worker is paused for a restore of ${MISSING}. Let the restore run, or continue it if it has ended early.`,
  );
  expect(text.endsWith('\nNot fine: problems with 1 of 1 pool.\n')).toBe(true);
});

test('shows paused and terminating pools, skipped nodes and unreadable certificate requests', () => {
  const pools = [{ ...POOL, paused: true }, inspectedPool('infra', { spec: MISSING, terminating: true })];
  const requests = { readable: false, reason: '403 Forbidden' };
  const text = format([healthyNode('n')], pools, { requests, skippedNodes: ['linux-0', 'windows-0'] });
  expect(text).toMatch(/^worker .* ok, paused$/m);
  expect(text).toMatch(/^infra .* <none> +<none> +ok, being deleted$/m);
  expect(unwrap(text)).toContain(
    'Skipped nodes that the Machine Config Operator does not manage: linux-0 and windows-0. ' +
      '- Cannot list pending certificate requests of nodes (403 Forbidden). Fine: every',
  );
});

test('quotes each line of a reason, and removes control characters of annotations', () => {
  const hostile = `\u001B]0;x\u0007${'A'.repeat(70)}\r\n\u202E Run this:\noc annotate node n a=b ${'B '.repeat(50)}`;
  const node = { ...inspectedNode('n', { current: hostile, desired: hostile, state: hostile }), reason: hostile };
  const text = format([node], [POOL]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  const [, quotation = ''] = /^State reported by the nodes:\n- n:\n([^]*?)\n\n/m.exec(text) ?? [];
  const lines = quotation.split('\n');
  expect(lines.length).toBeGreaterThan(2);
  expect(lines.filter((line) => !line.startsWith('  > '))).toEqual([]);
});

test('formats the progress of a wait as one line, with the counts, the first problems and certificate requests', () => {
  const nodes = [healthyNode('n'), ...['a', 'b'].map((name) => inspectedNode(name, {}))];
  const request = { name: 'csr-x', node: 'c', signer: 'kubernetes.io/kubelet-serving', createdAt: null };
  expect(formatProgress(check(nodes, [POOL], { requests: { requests: [request] } }))).toBe(
    'problems with 2 of 3 nodes: node a has not reported a configuration yet, ' +
      'node b has not reported a configuration yet and certificate request csr-x: pending',
  );
  const many = Array.from({ length: 1_000 }, (_, index) => inspectedNode(`n${index}`, {}));
  expect(formatProgress(check(many, [POOL]))).toMatch(/^problems with 1000 of .* and 995 more$/);
});
