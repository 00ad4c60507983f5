import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import type { BootstrapReport } from '../../../src/cli/check/check-bootstrap.ts';
import { computeRenderedName } from '../../../src/rendered-config/config-hash.ts';
import { formatGoYaml } from '../../../src/rendered-config/go-yaml.ts';
import { kubeconfig } from '../control-plane/control-plane.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount, type Rule } from '../support/service-account.ts';
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
const ignition = (change: object): Spec => ({ ...SPEC, config: { ...SPEC.config, ...change } });

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const user = unique('reader');
const shell = await openShell([...LISTS, GET_CONFIGS], user);

beforeEach(() => installed.clear());
afterAll(() => installed.clear());

async function openShell(rules: readonly Rule[], name = unique('reader')): Promise<Shell> {
  const token = await createServiceAccount(admin, name, rules);
  const file = path.join(controlPlane.directory, `${name}.kubeconfig`);
  const { apiServer, caCertificate } = controlPlane;
  await writeFile(file, kubeconfig(apiServer.url, caCertificate, { token }), { mode: 0o600 });
  return Shell.open(controlPlane, file);
}

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
  await admin.create(PATHS.configs, {
    apiVersion: `${MCO}/v1`,
    kind: 'MachineConfig',
    metadata: { name },
    spec,
  });
  return name;
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
  const requests = await cluster.auditLog.events((event) => event.user.username.endsWith(`:${user}`));
  expect(new Set(requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'list']));
});

test.for([
  ['a file', ignition({ storage: { files: FILES.slice(1) } }), 'file', '/etc/a'],
  ['a mode', ignition({ storage: { files: [{ ...FILES[0], mode: 493 }, FILES[1]] } }), 'file', '/etc/a'],
  ['a unit', ignition({ systemd: { units: [{ ...UNITS[0], enabled: false }, UNITS[1]] } }), 'unit', 'a.service'],
  [
    'a drop-in',
    ignition({ systemd: { units: [UNITS[0], { name: 'b.service' }] } }),
    'drop-in',
    'b.service.d/10-mco.conf',
  ],
  ['a user', ignition({ passwd: {} }), 'user', 'core'],
  ['the Ignition version', ignition({ ignition: { version: '3.4.0' } }), 'setting', 'config.ignition.version'],
  [
    'a kernel argument',
    { ...SPEC, kernelArguments: ['console=ttyS0'] },
    'kernel argument',
    'systemd.unified_cgroup_hierarchy',
  ],
  ['an extension', { ...SPEC, extensions: [] }, 'extension', 'usbguard'],
  ['FIPS', { ...SPEC, fips: true }, 'setting', 'fips'],
  ['the kernel type', { ...SPEC, kernelType: 'realtime' }, 'setting', 'kernelType'],
  ['the OS image', { ...SPEC, osImageURL: 'quay.io/os@sha256:2' }, 'setting', 'osImageURL'],
] as const)('names what differs: %s', async ([, spec, kind, name]) => {
  const missing = computeRenderedName('master', spec);
  const rendered = await createConfig(SPEC);
  await cluster.pool({ name: 'master', spec: rendered });
  await cluster.node({ role: 'master', currentConfig: missing, desiredConfig: missing });
  const directory = await createBootstrapDirectory({ [missing]: spec });

  const { exitCode, report } = await readReport(directory);

  expect(exitCode).toBe(1);
  const differences = [{ kind, name, setBy: [] }];
  expect(report.configs).toMatchObject([{ state: 'missing', needed: true, comparedWith: rendered, differences }]);
  expect(report.configs[0]?.differences).toHaveLength(1);
});

test('names the source config of a difference, and prints no contents', async () => {
  const source = unique('99-master-password');
  await createConfig({ config: { ignition: { version: '3.5.0' }, storage: { files: FILES.slice(1) } } }, source);
  const rendered = await createConfig(SPEC);
  const configuration = {
    name: rendered,
    source: [{ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', name: source }],
  };
  await cluster.pool({ name: 'master', spec: rendered });
  await admin.patch(`${PATHS.pools}/master`, { spec: { configuration } });
  const spec = ignition({ storage: { files: FILES.slice(0, 1) } });
  const missing = computeRenderedName('master', spec);
  await cluster.node({ role: 'master', currentConfig: missing });
  const directory = await createBootstrapDirectory({ [missing]: spec });

  const { exitCode, stdout } = await check(directory);

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(new RegExp(String.raw`^file +/etc/b +<none> +sha256:[0-9a-f]{12} +${source}$`, 'm'));
  expect(stdout.replace(' \\\n     ', '')).toContain(`  machineconfig-guard restore ${missing} --from ${directory}\n`);
  expect(stdout).not.toContain('password\n');
});

test('explains unreadable input, a missing right and an unreachable API server', async () => {
  const directory = await createBootstrapDirectory({});
  expect(await check(directory)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('contains no rendered config') as string,
  });
  await writeFile(path.join(directory, 'machine-configs', 'rendered-a.yaml'), 'kind: MachineConfig\n  spec:\n');
  expect(await check(directory)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      /rendered-a\.yaml is neither JSON nor YAML \(line \d\); copy the file again\n$/,
    ) as string,
  });

  const readable = await createBootstrapDirectory({ [await createConfig(SPEC)]: SPEC });
  const withoutGet = await openShell(LISTS);
  expect(await withoutGet.run(`machineconfig-guard check --bootstrap-dir ${readable}`)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(/denies you "get" on machineconfigs/) as string,
  });
  const file = path.join(controlPlane.directory, `${unique('nowhere')}.kubeconfig`);
  await writeFile(file, kubeconfig('https://127.0.0.1:1', controlPlane.caCertificate, { token: 'a' }));
  expect(await check(readable, '--kubeconfig', file)).toMatchObject({ exitCode: 3, stdout: '' });
});
