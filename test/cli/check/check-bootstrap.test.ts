import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { BootstrapReport } from '../../../src/cli/check/check-bootstrap.ts';
import { computeRenderedName } from '../../../src/rendered-config/config-hash.ts';
import { createNode, type InspectedCluster, startEmptyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

const API_VERSION = 'machineconfiguration.openshift.io/v1';
const SECRET = 'pull-secret';
const FILE = { path: '/etc/motd', mode: 420, contents: { source: 'data:,first%20line%0Asame%0A' } };
const UNIT = { name: 'a.service', enabled: true, contents: '[Unit]\n', dropins: [{ name: '10.conf', contents: 'a' }] };
const CLUSTER_SPEC = {
  config: {
    ignition: { version: '3.5.0' },
    storage: { files: [FILE] },
    systemd: { units: [UNIT] },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 a'] }] },
  },
  extensions: [],
  fips: false,
  kernelArguments: ['mitigations=auto', 'audit=0'],
  kernelType: 'default',
  osImageURL: 'quay.io/os@sha256:1',
};
const BOOTSTRAP_SPEC = {
  ...CLUSTER_SPEC,
  config: {
    ...CLUSTER_SPEC.config,
    storage: { files: [{ ...FILE, contents: { source: `data:,${SECRET}%0Asame%0A` } }] },
  },
  kernelArguments: ['mitigations=auto'],
};
const MISSING = computeRenderedName('master', BOOTSTRAP_SPEC);
const RENDERED = computeRenderedName('master', CLUSTER_SPEC);

let inspected: InspectedCluster;
let directory: string;

beforeEach(async () => {
  inspected = await startEmptyCluster();
  directory = createTemporaryDirectory();
  mkdirSync(path.join(directory, 'machine-configs'));
});

function writeConfig(name: string, spec: object): string {
  const file = path.join(directory, 'machine-configs', `${name}.yaml`);
  const config = { apiVersion: API_VERSION, kind: 'MachineConfig', metadata: { name }, spec };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

function writePoolSources(sources: readonly string[]): void {
  mkdirSync(path.join(directory, 'machine-pools'));
  const source = sources.map((name) => ({ kind: 'MachineConfig', name }));
  const pool = { apiVersion: API_VERSION, kind: 'MachineConfigPool', spec: { configuration: { source } } };
  writeFileSync(path.join(directory, 'machine-pools', 'master.yaml'), JSON.stringify(pool));
}

function createConfig(name: string, spec: object): void {
  inspected.cluster.create('machineconfigs', { metadata: { name }, spec });
}

function createPool(name: string, config: string | undefined, sources: readonly string[] = []): void {
  const source = sources.map((sourceName) => ({ kind: 'MachineConfig', name: sourceName }));
  inspected.cluster.create('machineconfigpools', {
    metadata: { name },
    spec: { configuration: { ...(config === undefined ? {} : { name: config }), source } },
  });
}

/** Incident B: the masters name a config that only the bootstrap host has. */
function createDeadLock(): void {
  createConfig(RENDERED, CLUSTER_SPEC);
  createConfig('99-master-audit', { kernelArguments: ['audit=0'] });
  createConfig('98-master-other', { kernelArguments: ['nosmt'] });
  createConfig('00-master', { config: { storage: { files: [FILE] } } });
  createPool('master', RENDERED, ['00-master', '98-master-other', '99-master-audit']);
  createNode(inspected.cluster, 'control1', { currentConfig: MISSING, desiredConfig: MISSING }, 'master');
}

async function check(...args: string[]) {
  return await inspected.run('check', '--bootstrap-dir', directory, ...args);
}

async function readReport(...args: string[]) {
  const { exitCode, stdout } = await check('--output', 'json', ...args);
  return { exitCode, report: JSON.parse(stdout) as BootstrapReport };
}

test('explains a missing config that a node names: sources, parts and the restore command, no contents', async () => {
  const file = writeConfig(MISSING, BOOTSTRAP_SPEC);
  writePoolSources(['00-master', '00-worker', '97-master-old', '98-master-other']);
  createDeadLock();
  const { exitCode, report } = await readReport();
  expect(exitCode).toBe(1);
  expect(report).toMatchObject({ directory, ok: false });
  const digest = expect.stringMatching(/^sha256:[0-9a-f]{12}$/) as string;
  expect(report.configs).toEqual([
    {
      name: MISSING,
      ok: false,
      file,
      pool: 'master',
      state: 'missing',
      needed: true,
      recoverable: false,
      usedBy: [{ kind: 'Node', name: 'control1' }],
      comparedWith: RENDERED,
      differences: [
        { kind: 'file', name: '/etc/motd', bootstrap: digest, cluster: digest, setBy: ['00-master'] },
        { kind: 'kernel argument', name: 'audit', bootstrap: null, cluster: digest, setBy: ['99-master-audit'] },
      ],
      sources: { onlyBootstrap: ['00-worker', '97-master-old'], onlyCluster: ['99-master-audit'] },
      restore: {
        text: 'create it again; without --confirm this writes nothing',
        command: `machineconfig-guard restore --kubeconfig ${inspected.kubeconfig} ${MISSING} --from ${directory}`,
      },
    },
  ]);
  expect((await check('-o', 'name')).stdout).toBe(`machineconfig/${MISSING}\n`);
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
  const name = computeRenderedName(pool, BOOTSTRAP_SPEC);
  writeConfig(name, BOOTSTRAP_SPEC);
  createConfig('rendered-other', CLUSTER_SPEC);
  createPool(pool, 'rendered-other');
  expect(await readReport()).toMatchObject({ exitCode, report: { ok, configs: [{ restore: null, usedBy: [] }] } });
  expect((await check()).stdout.replaceAll('\n', ' ')).toContain(sentence);
});

test.each([
  ['no pool', () => {}],
  ['a pool without a config', () => createPool('master', undefined)],
  ['a pool that names the missing config', () => createPool('master', MISSING)],
])('with %s, says that the operator can still render the config', async (_, prepare) => {
  writeConfig(MISSING, BOOTSTRAP_SPEC);
  writePoolSources(['00-master']);
  prepare();
  // The pools have no sources yet.
  const sources = { onlyBootstrap: [], onlyCluster: [] };
  const configs = [{ state: 'missing', recoverable: true, comparedWith: null, sources, restore: null }];
  expect(await readReport()).toMatchObject({ exitCode: 1, report: { ok: false, configs } });
  expect((await check()).stdout).toContain('Run this command again');
});

const differences = [{ kind: 'setting', name: 'kernelType', bootstrap: 'default', cluster: 'realtime' }];

test.each([
  ['different', {}, { comparedWith: MISSING, differences, restore: null }],
  ['terminating', { deletionTimestamp: '2026-11-22T14:03:09Z', finalizers: ['a/b'] }, {}],
])('finds a config that is %s in the API', async (state, metadata, fields) => {
  writeConfig(MISSING, BOOTSTRAP_SPEC);
  const spec = { ...BOOTSTRAP_SPEC, kernelType: 'realtime' };
  inspected.cluster.create('machineconfigs', { metadata: { name: MISSING, ...metadata }, spec });
  createPool('master', MISSING);
  expect(await readReport()).toMatchObject({ exitCode: 1, report: { configs: [{ state, ...fields }] } });
});

test.each([
  [['--wait'], "cannot be used with option '--wait'"],
  [['--role', 'master'], "cannot be used with option '--role <role>'"],
  [[], 'contains no rendered config; on the bootstrap host it is /etc/mcs/bootstrap'],
])('with %j and an empty directory, exits with 2', async (args, sentence) => {
  expect(await check(...args)).toEqual(usageError(sentence));
});
