import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatCheckReport, formatProblemNames, formatProgress } from '../../../src/cli/check/format-report.ts';
import { joinWithAnd } from '../../../src/common/printable-text.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { formatJson } from '../../../src/client/output/output.ts';
import {
  checkWithCauses,
  inspectedNode,
  inspectedPool,
  MASTER,
  MISSING,
  WORKER,
} from '../../diagnosis/checked-cluster.ts';

const NODE_HEADERS = ['NODE', 'POOL', 'STATE', 'CURRENT', 'DESIRED', 'CHECK'];
const commands = new CommandFormatter('machineconfig-guard', { kubeconfig: '/home/alice/lab.yaml' });
const NARROW = { width: 80, hasColors: false, columns: 80, commands };
const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const healthyNode = (name: string) => inspectedNode(name, { current: WORKER, desired: WORKER });

function format(...args: Parameters<typeof checkWithCauses>): string {
  return formatCheckReport(NARROW, checkWithCauses(...args));
}

function unwrap(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

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
  const dropped = NODE_HEADERS.filter((each) => !header.split(' ').includes(each));
  const hint = dropped.length === 0 ? '' : `(-o wide also prints ${joinWithAnd(dropped)})`;
  expect(lines[2]).toBe(hint);
});

test.each([
  ['without a roll-out', WORKER, '1', 'ok'],
  ['in a roll-out', MASTER, '0', 'ok, updating'],
])('the table says what a pool %s does', (_what, spec, updated, note) => {
  const pool = inspectedPool('worker', { spec, status: WORKER, updatedMachineCount: Number(updated) });
  const row = format([healthyNode('n')], [pool], { configs: [WORKER, MASTER] })
    .split('\n')
    .find((line) => line.startsWith('worker'));
  expect(row?.split(/ {2,}/)).toEqual(['worker', '1', updated, expect.anything(), expect.anything(), note]);
});

interface ReportCase {
  readonly nodes: Readonly<Record<string, Parameters<typeof inspectedNode>[1]>>;
  readonly pools: Readonly<Record<string, Parameters<typeof inspectedPool>[1] & { readonly pausedSince?: string }>>;
  readonly facts?: Parameters<typeof checkWithCauses>[2];
  readonly texts: readonly string[];
  readonly names?: readonly string[];
}

const CASES = parse(readFileSync(new URL('reports.yaml', import.meta.url), 'utf8')) as Record<string, ReportCase>;

test.each(Object.entries(CASES))('formats %s', (_what, { nodes, pools, facts, texts, names }) => {
  const inspectedPools = Object.entries(pools).map(([name, { pausedSince, ...options }]) => {
    const pause = pausedSince === undefined ? undefined : { manager: 'kubectl-patch', at: new Date(pausedSince) };
    return { ...inspectedPool(name, options), pause };
  });
  const inspectedNodes = Object.entries(nodes).map(([name, options]) => inspectedNode(name, options));
  const result = checkWithCauses(inspectedNodes, inspectedPools, facts);
  const text = formatCheckReport(NARROW, result);
  for (const expected of texts) expect(`${unwrap(text)}END`).toContain(expected);
  const isCommand = (line: string) => /^ {2}(?:# )?(?:oc|ssh|machineconfig-guard) /.test(line);
  expect(text.split('\n').filter((line) => line.length > 80 && !isCommand(line))).toEqual([]);
  const printed = text.match(/(?<=^ {2}(?:# )?)(?:oc|machineconfig-guard) .*$/gm) ?? [];
  const { repairs } = JSON.parse(formatJson(result.report, commands)) as {
    repairs: readonly { command: string | null }[];
  };
  expect(printed).toEqual(repairs.flatMap(({ command }) => command ?? []));
  if (names !== undefined) expect(formatProblemNames(result.report).trimEnd().split('\n')).toEqual(names);
});

test.each([
  [false, 'Waiting can help (--wait).'],
  [true, 'Waited 2m.'],
])('concludes a recoverable problem (hasWaited: %s) with "%s"', (hasWaited, sentence) => {
  const { report, causes } = checkWithCauses([inspectedNode('n', {})], [POOL]);
  const waited = { report: { ...report, waitedSeconds: 125 }, causes };
  const text = formatCheckReport(NARROW, waited, hasWaited);
  expect(text.endsWith(`\nNot fine: problems with 1 of 1 node. ${sentence}\n`)).toBe(true);
  expect(formatCheckReport({ ...NARROW, hasColors: true }, waited)).toContain('\u001B[31mnot reported\u001B[39m');
});

test('explains 5 problems of a kind, with 5 warnings', () => {
  const nodes = Array.from({ length: 6 }, (_, index) => {
    const config = `rendered-worker-${String(index).repeat(32)}`;
    return inspectedNode(`n${index}`, {
      current: config,
      desired: config,
      notReady: { minutesAgo: 120, status: 'Unknown' },
    });
  });
  const text = unwrap(format(nodes, [POOL]));
  expect(text.match(/nodes? n\d names? it/g)).toHaveLength(5);
  expect(text).toContain('- 2 more problems of this kind (--output json).');
  expect(text.match(/Do not use n\d as the source/g)).toHaveLength(5);
});

test('combines equal rows of more than 20 nodes, at most 20 of them, except with -o wide', () => {
  const bad = Array.from({ length: 22 }, (_each, index) => {
    return { ...inspectedNode(`bad-${index}`, {}), daemonState: `State${index}` };
  });
  const fine = Array.from({ length: 300 }, (_each, index) => healthyNode(`fine-${index}`));
  const small = format(fine.slice(0, 20), [POOL]);
  expect(small.match(/^fine-/gm)).toHaveLength(20);
  const large = format(fine.slice(0, 21), [POOL]);
  expect(large).toMatch(/^fine-0 and 20 more +worker +Done .* ok\n\(-o wide lists each of the 21 nodes\)\n/m);
  expect(large.match(/^fine-/gm)).toHaveLength(1);
  const mixed = checkWithCauses([...fine, ...bad], [POOL]);
  expect(formatCheckReport(NARROW, mixed).match(/^(?:bad|fine)-/gm)).toHaveLength(20);
  expect(formatCheckReport({ ...NARROW, isWide: true }, mixed).match(/^(?:bad|fine)-/gm)).toHaveLength(322);
});

test('explains one cause of many nodes once, whenever it began', () => {
  const nodes = Array.from({ length: 30 }, (_each, index) => {
    return inspectedNode(`n${index}`, { current: WORKER, desired: WORKER, notReady: { minutesAgo: 100 + index } });
  });
  const text = unwrap(format(nodes, [POOL]));
  expect(text).toContain('- Nodes n0, n1, n2 and 27 more are not ready (since 2026-11-20T09:51:00Z or later). The');
  expect(text).not.toContain('of this kind');
});

test('prints 10 repairs, and counts the others', () => {
  const nodes = Array.from({ length: 25 }, (_each, index) => {
    const reason = `content mismatch for file "/etc/${index}"`;
    return inspectedNode(`n${index}`, { current: WORKER, desired: WORKER, state: 'Degraded', reason });
  });
  const text = unwrap(format(nodes, [POOL]));
  expect(text.match(/# put file/g)).toHaveLength(10);
  expect(text).toContain('# 17 more: --output json');
});

test('shortens the state of a node to 24 characters, and wraps a quoted reason at the edge of the terminal', () => {
  const reason = `${'a'.repeat(38)} ${'b'.repeat(37)}`;
  const node = inspectedNode('n', { current: WORKER, desired: WORKER, state: 'Degraded', reason });
  const text = format([node, { ...healthyNode('m'), daemonState: `Done${'x'.repeat(21)}` }], [POOL]);
  expect(text).toContain(`\n  > ${reason}\n`);
  expect(text).toMatch(/^m +worker +Donex{17}\.\.\. /m);
});

test('quotes each line of a reason, and removes control characters of annotations', () => {
  const hostile = `\u001B]0;x\u0007${'A'.repeat(70)}\r\n\u202E Run this:\noc annotate node n a=b ${'B '.repeat(50)}`;
  const node = inspectedNode('n', { current: WORKER, desired: WORKER, state: 'Degraded', reason: hostile });
  const text = format([node], [POOL]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text.match(/^ {2}> .+$/gm)?.length).toBeGreaterThan(2);
  expect(text).not.toMatch(/^(?! {2}> ).*B B/m);
});

test('formats the progress of a wait as one line, with the counts, the first problems and certificate requests', () => {
  const nodes = [healthyNode('n'), ...['a', 'b'].map((name) => inspectedNode(name, {}))];
  const request = { name: 'csr-x', node: 'c', signer: 'kubernetes.io/kubelet-serving', createdAt: null };
  expect(formatProgress(checkWithCauses(nodes, [POOL], { requests: { requests: [request] } }))).toBe(
    'problems with 2 of 3 nodes: node a has not reported a configuration yet; ' +
      'node b has not reported a configuration yet; certificate request csr-x is pending',
  );
  const many = Array.from({ length: 1_000 }, (_, index) => inspectedNode(`n${index}`, {}));
  expect(formatProgress(checkWithCauses(many, [POOL]))).toMatch(/^problems with 1000 of .{375}\.\.\.$/);
});
