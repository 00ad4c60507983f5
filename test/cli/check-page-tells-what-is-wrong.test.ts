import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatCheckReport } from '../../src/cli/check/format-report.ts';
import { inspectedNode, inspectedPool } from '../policy/inspected.ts';
import { checked, incidentB, MASTER, MISSING, WORKER } from './reports.ts';

const NARROW = { width: 80, colours: false };
const WIDE = { width: 120, colours: false };

/** In one line, so that a text is found wherever it breaks. */
function words(page: string): string {
  return page.replaceAll(/\s+/g, ' ');
}

test.each([
  [NARROW, 'master-553d5d52'],
  [WIDE, 'rendered-master-553d5d52'],
])('incident B, on a page of %j', (page, label) => {
  const { report, repairs } = incidentB();
  const text = formatCheckReport(page, report, repairs);
  expect(text).toMatch(new RegExp(`^control1\\.gw\\.lo +master +Degraded +${label} +${label} +both missing$`, 'm'));
  expect(text).toMatch(/^worker0\.gw\.lo +worker +Done +\S+ +\S+ +ok$/m);
  expect(text).toMatch(/^master +1 +1 +\S+ +<none> +status empty$/m);
  expect(words(text)).toContain(`${MISSING} does not exist; nodes control1.gw.lo and control2.gw.lo name it.`);
  expect(words(text)).toContain('Pool master has an empty status.configuration.name');
  expect(words(text)).toContain(`control1.gw.lo: missing MachineConfig ${MISSING} machineconfigs`);
  expect(text).toMatch(/^csr-8vnps +12m +kube-apiserver-client-kubelet +control0\.gw\.lo$/m);
  expect(text).toContain('oc adm certificate approve csr-8vnps');
  expect(text.trimEnd().split('\n').at(-1)).toBe(
    'Not fine: 2 of 4 nodes and 1 of 2 pools. Waiting does not heal this.',
  );
  // Commands are to be copied whole; everything else keeps to the page.
  const long = text.split('\n').filter((line) => line.length > page.width);
  for (const line of long) expect(line).toMatch(/^ {4}(?:-p|machineconfiguration\.openshift\.io\/)/);
});

test('the words of repair commands are those of the report, line by line', () => {
  const { report, repairs } = incidentB();
  const text = formatCheckReport(NARROW, report, repairs);
  const commands = text.replaceAll(/ \\\n +/g, ' ').match(/(?<=^ {2})oc .*$/gm);
  expect(commands).toEqual(report.repairs.map(({ command }) => command));
  expect(commands).toHaveLength(3);
});

test('colours are all that a terminal adds', () => {
  const { report, repairs } = incidentB();
  const painted = formatCheckReport({ ...NARROW, colours: true }, report, repairs);
  expect(painted).toContain('\u001B[31mboth missing\u001B[39m');
  expect(stripVTControlCharacters(painted)).toBe(formatCheckReport(NARROW, report, repairs));
  expect(formatCheckReport(NARROW, report, repairs)).toBe(
    stripVTControlCharacters(formatCheckReport(NARROW, report, repairs)),
  );
});

const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const fine = (name: string) => inspectedNode(name, { current: WORKER, desired: WORKER });

test('fine: tables and one sentence', () => {
  const { report, repairs } = checked([fine('worker-0')], [POOL]);
  const label = 'rendered-worker-25a1be6c';
  expect(formatCheckReport(WIDE, report, repairs)).toBe(
    [
      `NODE      POOL    STATE  CURRENT                   DESIRED                   CHECK`,
      `worker-0  worker  Done   ${label}  ${label}  ok`,
      '',
      `POOL    MACHINES  UPDATED  SPEC                      STATUS                    CHECK`,
      `worker         1        1  ${label}  ${label}  ok`,
      '',
      'Fine: every config that 1 node and 1 pool name exists.',
      '',
    ].join('\n'),
  );
});

test.each([
  [{}, 'not reported', 'Node n has not reported a configuration yet.'],
  [{ current: WORKER }, 'no desired yet', 'Node n has not reported its desiredConfig yet.'],
  [{ current: WORKER, desired: MISSING }, 'desired missing', `${MISSING} does not exist; node n names it.`],
  [{ current: MISSING, desired: WORKER }, 'current missing', `${MISSING} does not exist; node n names it.`],
  [{ current: MISSING }, 'current missing, no desired yet', 'Node n has not reported its desiredConfig yet.'],
])('a node with %j: %s', (configs, short, sentence) => {
  const { report } = checked([inspectedNode('n', configs)], [POOL]);
  const text = formatCheckReport(NARROW, report, []);
  expect(text).toMatch(new RegExp(`^n +worker .* ${short}$`, 'm'));
  expect(words(text)).toContain(sentence);
});

test('many nodes with the same trouble are one sentence with three names; those that are fine come last', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => inspectedNode(name, {}));
  const text = formatCheckReport(NARROW, checked([fine('0'), ...nodes], [POOL]).report, []);
  expect(words(text)).toContain('Nodes a, b, c and 2 more have not reported a configuration yet.');
  const rows = text.split('\n').filter((line) => /^\w +worker /.test(line));
  expect(rows.map((row) => row[0])).toEqual(['a', 'b', 'c', 'd', 'e', '0']);
});

test('what may heal, what does not, and a name that was misspelt', () => {
  const typo = WORKER.replace('rendered', 'render');
  const { report } = checked(
    [
      inspectedNode('n', { current: MASTER, desired: typo }),
      inspectedNode('m', { current: MISSING, desired: MISSING }),
    ],
    [POOL, inspectedPool('master', { spec: MISSING })],
  );
  const text = words(formatCheckReport(NARROW, report, []));
  expect(text).toContain(
    `does not exist; node n names it. No pool's spec names it, so waiting does not bring it back.`,
  );
  expect(text).toContain(`Nearest existing name: ${WORKER}.`);
  expect(text).toContain(`node m and pool master name it. The Machine Config Operator can still render it.`);
});

test('what the guard of this cluster knows of a missing config', () => {
  const { report } = checked([inspectedNode('n', { current: MISSING, desired: MISSING })], [POOL], {
    explanations: { [MISSING]: 'never seen in this cluster' },
  });
  expect(words(formatCheckReport(NARROW, report, []))).toContain(
    'waiting does not bring it back. The guard says: never seen in this cluster.',
  );
});

describe('the verdict', () => {
  const waiting = checked([inspectedNode('n', {})], [POOL]).report;
  test.each([
    [undefined, 'Waiting may heal this (--wait).'],
    ['timeout', 'Still so after 2m05s.'],
  ] as const)('while waiting may heal it, after %s', (end, sentence) => {
    const text = formatCheckReport(NARROW, { ...waiting, waitedSeconds: 125 }, [], end);
    expect(text.trimEnd().split('\n').at(-1)).toBe(`Not fine: 1 of 1 node. ${sentence}`);
  });

  test('of no node at all: what is missing, and no table', () => {
    const { report } = checked([], []);
    expect(formatCheckReport(NARROW, report, [])).toBe(
      'Not fine: no node is in the cluster. Waiting may heal this (--wait).\n',
    );
  });
});

test('a pool that is being deleted, and one that is paused', () => {
  const { report } = checked(
    [fine('n')],
    [{ ...POOL, paused: true }, inspectedPool('infra', { spec: MISSING, terminating: true })],
  );
  const text = formatCheckReport(NARROW, report, []);
  expect(text).toMatch(/^worker .* ok, paused$/m);
  expect(text).toMatch(/^infra .* <none> +<none> +being deleted$/m);
});

test('whatever stands in an annotation, it cannot take over the terminal', () => {
  const evil = `\u001B]0;x\u0007${'A'.repeat(300)}\r\n\u202Eevil`;
  const node = Object.assign(inspectedNode('n', { current: evil, desired: evil, state: evil }), { reason: evil });
  const text = formatCheckReport(NARROW, checked([node], [POOL]).report, []);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('requests that cannot be seen: why', () => {
  const { report } = checked([fine('n')], [POOL], { requests: { readable: false, reason: 'you may not' } });
  expect(words(formatCheckReport(NARROW, report, []))).toContain(
    'Pending certificate requests of nodes are not shown: they could not be read (you may not).',
  );
});
