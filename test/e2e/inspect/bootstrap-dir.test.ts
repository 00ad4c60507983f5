import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import type { BootstrapReport } from '../../../src/cli/check/check-bootstrap.ts';
import { computeRenderedName } from '../../../src/rendered-config/config-hash.ts';
import { formatGoYaml } from '../../../src/rendered-config/go-yaml.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

const MCO = 'machineconfiguration.openshift.io';
const LISTS: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
  { apiGroups: [MCO], resources: ['machineconfigs', 'machineconfigpools'], verbs: ['list'] },
];
const GET_CONFIGS: Rule = { apiGroups: [MCO], resources: ['machineconfigs'], verbs: ['get'] };

const FILES = [
  { path: '/etc/a', mode: 420, overwrite: true, contents: { source: 'data:,a%20%C3%A4' } },
  { path: '/etc/b', mode: 384, contents: { source: 'data:;base64,cGFzc3dvcmQK' } },
];
const UNITS = [
  {
    name: 'a.service',
    enabled: true,
    contents: '[Unit]\nDescription=a "b"\n\n[Service]\nExecStart=/bin/true\n',
  },
  { name: 'b.service', dropins: [{ name: '10-mco.conf', contents: '[Service]\nEnvironment="A=yes"\n' }] },
];
const SPEC = {
  baseOSExtensionsContainerImage: 'quay.io/extensions@sha256:1',
  config: {
    ignition: { version: '3.5.0' },
    passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 AAAA a'] }] },
    storage: { files: FILES },
    systemd: { units: UNITS },
  },
  extensions: ['usbguard'],
  fips: false,
  kernelArguments: ['systemd.unified_cgroup_hierarchy=1', 'console=ttyS0'],
  kernelType: 'default',
  osImageURL: 'quay.io/os@sha256:1',
};
type Spec = Readonly<Record<string, unknown>>;

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const user = unique('reader');
const shell = await Shell.openAs(controlPlane, [...LISTS, GET_CONFIGS], user);

beforeEach(() => installed.clear());
afterAll(() => installed.clear());

/** A directory as `/etc/mcs/bootstrap`, with the YAML that the operator writes. */
async function createBootstrapDirectory(specs: Readonly<Record<string, Spec>>): Promise<string> {
  const directory = await mkdtemp(path.join(controlPlane.directory, 'bootstrap-'));
  await mkdir(path.join(directory, 'machine-configs'));
  for (const [name, spec] of Object.entries(specs)) {
    const config = {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineConfig',
      metadata: { name, creationTimestamp: null },
      spec,
    };
    await writeFile(path.join(directory, 'machine-configs', `${name}.yaml`), formatGoYaml(config));
  }
  return directory;
}

/** Creates a MachineConfig as the operator renders it and returns its name. */
async function createConfig(spec: Spec, name: string = computeRenderedName('master', spec)): Promise<string> {
  return cluster.config({ name, spec });
}

async function check(directory: string, ...args: readonly string[]) {
  return await shell.run(['machineconfig-guard check --bootstrap-dir', directory, ...args].join(' '));
}

async function readReport(directory: string) {
  const { exitCode, stdout, stderr } = await check(directory, '--output json');
  return { exitCode, stderr, report: JSON.parse(stdout) as BootstrapReport };
}

test('finds that the API has the config of each pool, with get and list only', async () => {
  const worker = computeRenderedName('worker', SPEC);
  const master = await createConfig(SPEC);
  await createConfig(SPEC, worker);
  await cluster.pool({ name: 'master', spec: master, status: master });
  const directory = await createBootstrapDirectory({ [master]: SPEC, [worker]: SPEC });

  const { exitCode, stderr, report } = await readReport(directory);

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(report.configs).toMatchObject([master, worker].map((name) => ({ name, state: 'exists' })));
  const requests = await cluster.auditEvents((event) => event.user.username.endsWith(`:${user}`));
  expect(new Set(requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'list']));
});

test('names the differences of a missing config, with the source config that sets one, and no contents', async () => {
  const name = unique('99-master-password');
  await createConfig({ config: { ignition: { version: '3.5.0' }, storage: { files: FILES.slice(1) } } }, name);
  const rendered = await createConfig(SPEC);
  const source = [{ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', name }];
  await cluster.pool({ name: 'master', spec: rendered });
  await admin.patch(`${PATHS.pools}/master`, { spec: { configuration: { name: rendered, source } } });
  const storage = { files: [{ ...FILES[1], mode: 493 }] };
  const spec = { ...SPEC, config: { ...SPEC.config, storage } };
  const missing = computeRenderedName('master', spec);
  await cluster.node({ role: 'master', currentConfig: missing, desiredConfig: missing });
  const directory = await createBootstrapDirectory({ [missing]: spec });

  const { exitCode, report } = await readReport(directory);
  const { stdout } = await check(directory);

  expect(exitCode).toBe(1);
  const differences = [
    { kind: 'file', name: '/etc/a', setBy: [] },
    { kind: 'file', name: '/etc/b', setBy: [name] },
  ];
  expect(report.configs).toMatchObject([{ state: 'missing', needed: true, comparedWith: rendered, differences }]);
  expect(stdout).toMatch(
    new RegExp(String.raw`^file +/etc/b +sha256:[0-9a-f]{12} +sha256:[0-9a-f]{12} +${name}$`, 'm'),
  );
  expect(stdout.replace(' \\\n     ', '')).toContain(`  machineconfig-guard restore ${missing} --from ${directory}\n`);
  expect(stdout + JSON.stringify(report)).not.toContain('cGFzc3dvcmQK');
});

test('names a missing right', async () => {
  const directory = await createBootstrapDirectory({ [await createConfig(SPEC)]: SPEC });
  const withoutGet = await Shell.openAs(controlPlane, LISTS);
  expect(await withoutGet.run(`machineconfig-guard check --bootstrap-dir ${directory}`)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(/denies you "get" on machineconfigs/) as string,
  });
});
