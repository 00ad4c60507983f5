import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { NODES_PATH } from '../../../src/kube/api-paths.ts';
import type { TestCluster } from '../../support/test-cluster.ts';
import {
  annotate,
  createConfig,
  createNode,
  GONE,
  holdConfigs,
  type InspectedCluster,
  NEW,
  OLD,
  startHealthyCluster,
  TIME,
} from '../inspected-cluster.ts';
import { useTerminal } from '../terminal.ts';
import { GUARD_PATH } from '../../../src/api/paths.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/mco/api-paths.ts';

const OTHER_POOL = 'rendered-infra-a4983d88dabdc54ecf977ee120fd3796';
const TYPO = NEW.replace('rendered', 'render');

async function readReport({ run }: Pick<InspectedCluster, 'run'>, ...args: string[]): Promise<ReferencesReport> {
  return JSON.parse((await run('who-uses', ...args, '-o', 'json')).stdout) as ReferencesReport;
}

/** Creates a config with this age by the local clock, which is also the clock of the API server. */
function createAgedConfig(cluster: TestCluster, name: string, ageMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - ageMs });
  createConfig(cluster, name);
  vi.useRealTimers();
}

test('for a config in use, prints the referrers and exits with 0', async () => {
  const { run, cluster, address } = await startHealthyCluster();
  // The whole name is that of NEW all the same.
  for (const longer of ['-1', '-2']) createConfig(cluster, NEW + longer);
  const stdout = [
    `Cluster: ${address}`,
    `${NEW} is in use by 1 node and 1 pool.`,
    'KIND               NAME      FIELD                         KEEPS CONFIG',
    'Node               worker-0  currentConfig, desiredConfig  yes',
    'MachineConfigPool  worker    spec, status                  yes\n',
  ].join('\n');
  // `oc get machineconfig -o name` prints such a name.
  const name = `machineconfig.machineconfiguration.openshift.io/${NEW}`;
  expect(await run('who-uses', name, `mc/${NEW}`)).toEqual({ exitCode: 0, stdout, stderr: '' });
});

const HOUR_MS = 3_600_000;

test.each([
  ['a missing config', TYPO, NEW, 1, `No object uses this exact name. Closest existing name: ${NEW}. 1 node without a`],
  ['a source config', '99-worker-ssh', NEW, 1, 'is a source config, merged by pool worker. It is not a rendered con'],
  ['another source config', '99-other', NEW, 1, '99-other is not in use. It is not a rendered config, so the guard'],
  ['a missing config', TYPO, TYPO, 0, "It is still named by 1 node. No pool's spec names it, so nothing renders it"],
  ['a config that is in use again', NEW, NEW, 0, 'is in use by 1 node and 1 pool. KIND NAME'],
  ['an unused config', OLD, NEW, 1, 'guard holds it until 20TIMEZ. Informational references of 1 node do not keep it.'],
])('explains the result for %s', async (_name, config, desiredConfig, exitCode, text) => {
  const { run, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig, lastAppliedDrain: `uncordon-${OLD}` });
  for (const name of ['99-worker-ssh', '99-other']) createConfig(cluster, name);
  const configuration = { name: NEW, source: [{ name: '00-worker' }, { name: '99-worker-ssh' }] };
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration } });
  createNode(cluster, 'new', {});
  holdConfigs(cluster, { [OLD]: HOUR_MS, [NEW]: HOUR_MS });
  // The local clock is a day ahead of that of the API server.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const outcome = await run('who-uses', config);
  expect(outcome).toMatchObject({ exitCode, stderr: '' });
  const line = outcome.stdout.replaceAll(/\s+/g, ' ').replaceAll(/(?<=20)\d\d-\S+(?=Z\.)/g, 'TIME');
  expect(line).toContain(text);
});

/** The commands complete them, also from the name of a missing config that a pool names. */
const BEGINNINGS = [NEW.slice('rendered-'.length, -20), OLD.slice(0, -20), TYPO, GONE.slice(0, -4)];

// test/docs/commands.test.ts compares the keys with the documentation.
test('prints the references of each config, and null for unknown values, as JSON', async () => {
  const inspected = await startHealthyCluster();
  const { run, cluster, address } = inspected;
  annotate(cluster, 'worker-0', { lastAppliedDrain: `uncordon-${OLD}` });
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: GONE } } });
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'planted' };
  for (const name of [NEW, OLD]) cluster.patch('machineconfigs', name, { metadata: { annotations } });
  const { exitCode, stdout, stderr } = await run('who-uses', ...BEGINNINGS, '--output', 'json');
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
  const report = JSON.parse(stdout) as ReferencesReport;
  const exists = { exists: true, rendered: true, createdAt: TIME };
  const isMissing = { exists: false, createdAt: null, heldUntil: null };
  const configs = [
    { name: NEW, ...exists, pool: 'worker', used: true, overridden: true, suggestion: null },
    { name: OLD, ...exists, used: false },
    { name: TYPO, ...isMissing, rendered: false, pool: null, used: false, suggestion: NEW },
    { name: GONE, ...isMissing, pool: 'worker', used: true },
  ];
  expect(report).toMatchObject({ server: address, readAt: TIME, unreportedNodes: 0, allUsed: false, configs });
  expect(report.configs.map(({ usedBy }) => usedBy.map((reference) => Object.values(reference).join(' ')))).toEqual([
    ['Node worker-0 currentConfig true', 'Node worker-0 desiredConfig true', 'MachineConfigPool worker status true'],
    ['Node worker-0 lastAppliedDrain false'],
    [],
    ['MachineConfigPool worker spec true'],
  ]);
  const sentence = 'annotation machineconfig-guard.io/allow-deletion lets any client delete';
  const print = async (...args: string[]) => (await run('who-uses', ...args)).stdout.replaceAll(/\s+/g, ' ');
  expect(await print(NEW)).toContain(`Its ${sentence} it.`);
  expect(await print(OLD)).not.toContain(sentence);
  expect(await print()).toContain(`The ${sentence} 1 config in use.`);
  expect(await readReport(inspected, GONE)).toMatchObject({ allUsed: true, configs: [{ name: GONE }] });
});

/** As `oc get -o name` prints it. */
const RESOURCE = 'machineconfig.machineconfiguration.openshift.io/';

test.each([
  ['the existing configs of the names', [NEW.slice(0, -20), OLD, TYPO]],
  ['existing configs without names', []],
])('-o name prints %s', async (_case, args) => {
  const { run, cluster } = await startHealthyCluster();
  createConfig(cluster, '99-worker-ssh');
  annotate(cluster, 'worker-0', { desiredConfig: GONE, lastAppliedDrain: `uncordon-${OLD}` });
  const { stdout, stderr } = await run('who-uses', ...args, '--output', 'name');
  expect([stdout.trimEnd().split('\n').toSorted(), stderr]).toEqual([[RESOURCE + OLD, RESOURCE + NEW], '']);
});

/** The rows, without the padding of the table and with 0 as the volatile ages, and the text below. */
async function list(inspected: InspectedCluster, ...args: string[]) {
  const { stdout } = await inspected.run('who-uses', ...args);
  const [table = '', text = ''] = stripVTControlCharacters(stdout.replace(/^Cluster: .*\n/, '')).split('\n\n');
  const rows = table.replaceAll(/ +/g, ' ').replaceAll(/\d+(?=s )/g, '0');
  return { rows: rows.split('\n'), text: text.replaceAll('\n', ' ') };
}

test('without a name, lists every rendered config, the missing ones first', async () => {
  const inspected = await startHealthyCluster();
  const { cluster } = inspected;
  createConfig(cluster, '99-worker-ssh');
  createNode(cluster, 'new', {});
  cluster.erase('machineconfigs', OLD);
  createAgedConfig(cluster, OLD, 50 * 86_400_000);
  annotate(cluster, 'worker-0', { desiredConfig: GONE, lastAppliedDrain: `uncordon-${OLD}` });

  const { rows, text } = await list(inspected);
  expect(rows).toEqual([
    'NAME POOL AGE USED BY',
    `${GONE} worker missing 1 node`,
    `${NEW} worker 0s 1 node, 1 pool`,
    `${OLD} worker 50d <none>`,
  ]);
  const { stdout: wide } = await inspected.run('who-uses', '-o', 'wide');
  expect(wide).toMatch(new RegExp(`^${NEW} .* node worker-0 and pool worker$`, 'm'));
  expect(text).toMatch(/^2 rendered configs, 1 unused, 1 missing\. .* any config\. .*-guard check --kubeconfig \S+ $/);
});

test.each([
  [70, 'KIND NAME FIELD', '(-o wide also prints KEEPS CONFIG)'],
  [40, 'NAME FIELD', '(-o wide also prints KIND and KEEPS CONFIG)'],
])('in a terminal of %d columns, prints only the columns %s of the referrers', async (columns, headers, note) => {
  const { run } = await startHealthyCluster();
  useTerminal(columns);
  const lines = stripVTControlCharacters((await run('who-uses', NEW)).stdout).split('\n');
  const [header, ...rows] = lines.slice(lines.findIndex((line) => line.includes('FIELD')));
  expect(header?.trim().split(/ +/)).toEqual(headers.split(' '));
  expect(rows.at(-2)).toBe(note);
  expect(rows.slice(0, -2).filter((row) => row.length > columns)).toEqual([]);
});

test('--unused lists the oldest configs first, with their full names and holds', async () => {
  const inspected = await startHealthyCluster();
  const { cluster } = inspected;
  holdConfigs(cluster, { [OLD]: HOUR_MS, [OTHER_POOL]: -1_000 });
  createAgedConfig(cluster, OTHER_POOL, 7_200_000);
  useTerminal(100);
  const { rows, text } = await list(inspected, '--unused');
  expect(rows.slice(0, 2)).toEqual(['NAME AGE USED BY', `${OTHER_POOL} 2h <none>`]);
  expect(rows[2]).toMatch(new RegExp(`^${OLD} 0s <none>, held until \\d{4}-\\d\\d-\\d\\dT[\\d:]+Z$`));
  expect(rows[3]).toBe('(-o wide also prints POOL)');
  expect(text).toMatch(
    /^2 unused rendered configs\. Point-in-time snapshot; .* The guard denies .* may boot with it\. $/,
  );
  expect(await inspected.run('who-uses', '--unused', '-o', 'name')).toEqual({
    exitCode: 0,
    stdout: `${RESOURCE}${OTHER_POOL}\n`,
    stderr: 'Omitted 1 held config.\nPoint-in-time snapshot; only the guard blocks a deletion.\n',
  });
});

test('--unused shows no hold of a config whose annotation allows the deletion', async () => {
  const inspected = await startHealthyCluster();
  const { cluster } = inspected;
  holdConfigs(cluster, { [OLD]: HOUR_MS });
  cluster.patch('machineconfigs', OLD, {
    metadata: { annotations: { 'machineconfig-guard.io/allow-deletion': 'why' } },
  });
  const { stdout } = await inspected.run('who-uses', '--unused', '-o', 'name');
  expect(stdout).toBe(`${RESOURCE}${OLD}\n`);
});

const nameOld = (cluster: TestCluster) => annotate(cluster, 'worker-0', { desiredConfig: OLD });
const createGone = (cluster: TestCluster) => createConfig(cluster, GONE);

test.each<[string, string, (cluster: TestCluster) => unknown, string, string[]]>([
  ['--unused leaves out a config that a node names later', MACHINE_CONFIGS_PATH, nameOld, '--unused', []],
  ['--unused leaves out a config that is created later', NODES_PATH, createGone, '--unused', [OLD]],
  ['a config exists that is created later', NODES_PATH, createGone, GONE, [GONE]],
])('if the configs were listed, %s', async (_case, pathBefore, change, argument, names) => {
  const inspected = await startHealthyCluster();
  inspected.cluster.faults.intercept(({ path }) => {
    if (path === pathBefore) change(inspected.cluster);
    return 'pass';
  });
  const { configs } = await readReport(inspected, argument);
  expect(configs.map(({ name, exists }) => exists && name)).toEqual(names);
});

test('exits with 3 if the hold of the guard cannot be read', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === GUARD_PATH ? { status: 403 } : 'pass'));
  expect(await run('who-uses', '--unused', '-o', 'name')).toMatchObject({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringContaining('denies you "get" on machineconfigguards') as string,
  });
});
