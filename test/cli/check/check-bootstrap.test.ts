import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { BootstrapReport } from '../../../src/cli/check/check-bootstrap.ts';
import { type ConfigOnDisk, createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { createNode, createPool, type InspectedCluster, startEmptyCluster } from '../inspected-cluster.ts';
import { runProgram, usageError } from '../run-program.ts';
import { createTemporaryDirectory, writeFiles } from '../temporary-directory.ts';

const SECRET = 'pull-secret';
const createIgnition = (text: string) => ({
  ignition: { version: '3.5.0' },
  storage: { files: [{ path: '/etc/motd', mode: 420, contents: { source: `data:,${text}%0Asame%0A` } }] },
});
const CLUSTER = createConfigOnDisk('master', {
  config: createIgnition('first%20line'),
  kernelArguments: ['mitigations=auto', 'audit=0'],
});
const BOOTSTRAP = createConfigOnDisk('master', {
  config: createIgnition(SECRET),
  kernelArguments: ['mitigations=auto'],
});
const [RENDERED, MISSING] = [CLUSTER.name, BOOTSTRAP.name];

let inspected: InspectedCluster;
let directory: string;

beforeEach(async () => {
  inspected = await startEmptyCluster();
  directory = createTemporaryDirectory();
});

function writeConfig({ name, bootstrapText }: ConfigOnDisk = BOOTSTRAP): string {
  const file = `machine-configs/${name}.yaml`;
  writeFiles(directory, { [file]: bootstrapText });
  return path.join(directory, file);
}

function writePoolSources(...sources: readonly string[]): void {
  const pool = { kind: 'MachineConfigPool', spec: { configuration: { source: sources.map((name) => ({ name })) } } };
  writeFiles(directory, { 'machine-pools/master.yaml': JSON.stringify(pool) });
}

function createConfig(name: string, spec: object): void {
  inspected.cluster.create('machineconfigs', { metadata: { name }, spec });
}

/** Incident B: the masters name a config that only the bootstrap host has. */
function createDeadLock(): void {
  createConfig(RENDERED, CLUSTER.spec);
  createConfig('99-master-audit', { kernelArguments: ['audit=0'] });
  createConfig('98-master-other', { kernelArguments: ['nosmt'] });
  createConfig('00-master', { config: createIgnition('first%20line') });
  const sources = ['00-master', '98-master-other', '99-master-audit'];
  createPool(inspected.cluster, 'master', { spec: RENDERED, sources });
  createNode(inspected.cluster, 'control1', { currentConfig: MISSING, desiredConfig: MISSING }, 'master');
}

async function check(...args: string[]) {
  return await inspected.run('check', 'bootstrap', directory, ...args);
}

async function readReport(...args: string[]) {
  const { exitCode, stdout } = await check('--output', 'json', ...args);
  return { exitCode, report: JSON.parse(stdout) as BootstrapReport };
}

test('accepts the flags of the cluster before the subcommand', async () => {
  createDeadLock();
  writeConfig();
  const args = ['check', '--kubeconfig', inspected.kubeconfig, 'bootstrap', directory];
  expect(await runProgram(args)).toEqual(await check());
});

test('explains a missing config that a node names: sources, parts and the restore command, no contents', async () => {
  const file = writeConfig();
  writePoolSources('00-master', '00-worker', '97-master-old', '98-master-other');
  createDeadLock();
  const { exitCode, report } = await readReport();
  const digest = expect.stringMatching(/^sha256:[0-9a-f]{12}$/) as string;
  const command = `machineconfig-guard restore --kubeconfig ${inspected.kubeconfig} ${MISSING} --from ${directory}`;
  const config = { name: MISSING, ok: false, file, pool: 'master', state: 'missing', needed: true, recoverable: false };
  const configs = [
    {
      ...config,
      usedBy: [{ kind: 'Node', name: 'control1' }],
      comparedWith: RENDERED,
      differences: [
        { kind: 'file', name: '/etc/motd', copy: digest, cluster: digest, setBy: ['00-master'] },
        { kind: 'kernel argument', name: 'audit', copy: null, cluster: digest, setBy: ['99-master-audit'] },
      ],
      sources: { onlyBootstrap: ['00-worker', '97-master-old'], onlyCluster: ['99-master-audit'] },
      restore: { text: 'create it again; without --confirm this writes nothing', command },
    },
  ];
  expect([exitCode, report]).toEqual([1, expect.objectContaining({ directory, ok: false, configs })]);
  const { stdout } = await check();
  expect(stdout).toMatch(/^kernel argument +audit +<none> +sha256:\S+ +99-master-audit$/m);
  expect(stdout).toContain('Do not reboot the bootstrap host before');
  expect(stdout + JSON.stringify(report)).not.toContain(SECRET);
});

test.each([
  ['worker', true, 0, 'No node or pool names it.'],
  ['master', false, 1, 'Restore it as soon as a node names it.'],
  ['arbiter', false, 1, 'Restore it as soon as a node names it.'],
])('a config of %s that no node names has no restore command', async (pool, ok, exitCode, sentence) => {
  writeConfig(toConfigOnDisk(pool, BOOTSTRAP.spec));
  createConfig('rendered-other', CLUSTER.spec);
  createPool(inspected.cluster, pool, { spec: 'rendered-other' });
  expect(await readReport()).toMatchObject({ exitCode, report: { ok, configs: [{ restore: null, usedBy: [] }] } });
  expect((await check()).stdout.replaceAll('\n', ' ')).toContain(sentence);
});

test.each([
  ['no pool', undefined],
  ['a pool without a config', {}],
  ['a pool that names the missing config', { spec: MISSING }],
])('with %s, says that the operator can still render the config', async (_, pool) => {
  writeConfig();
  writePoolSources('00-master');
  if (pool !== undefined) createPool(inspected.cluster, 'master', pool);
  // The pools have no sources yet.
  const sources = { onlyBootstrap: [], onlyCluster: [] };
  const configs = [{ state: 'missing', recoverable: true, comparedWith: null, sources, restore: null }];
  expect(await readReport()).toMatchObject({ exitCode: 1, report: { ok: false, configs } });
  expect((await check()).stdout).toContain('Run this command again');
});

test.each([
  ['different', {}, { comparedWith: MISSING, differences: [{ name: 'kernelType', cluster: 'realtime' }] }],
  ['terminating', { deletionTimestamp: '2026-11-22T14:03:09Z', finalizers: ['a/b'] }, {}],
])('finds a config that is %s in the API', async (state, metadata, fields) => {
  writeConfig();
  const spec = { ...BOOTSTRAP.spec, kernelType: 'realtime' };
  inspected.cluster.create('machineconfigs', { metadata: { name: MISSING, ...metadata }, spec });
  const configs = [{ state, restore: null, ...fields }];
  expect(await readReport()).toMatchObject({ exitCode: 1, report: { configs } });
});

test('finds a config that is deleted after the list to be missing', async () => {
  writeConfig();
  createDeadLock();
  createConfig(MISSING, BOOTSTRAP.spec);
  inspected.cluster.faults.intercept(({ path: requested }) =>
    requested.endsWith(`/machineconfigs/${MISSING}`) ? { status: 404 } : 'pass',
  );
  const configs = [{ name: MISSING, ok: false, state: 'missing', comparedWith: RENDERED }];
  expect(await readReport()).toMatchObject({ exitCode: 1, report: { ok: false, configs } });
});

test.each([
  [['--wait'], "unknown option '--wait'"],
  [['--role', 'master'], "unknown option '--role'"],
  [[], 'contains no rendered config; on the bootstrap host it is /etc/mcs/bootstrap'],
])('with %j and an empty directory, exits with 2', async (args, sentence) => {
  expect(await check(...args)).toEqual(usageError(sentence));
});
