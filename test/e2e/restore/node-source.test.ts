import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { readConfigsFromNode } from '../../../src/cli/restore/node-source.ts';
import type { CliError } from '../../../src/client/exit.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-report.ts';
import { restore } from '../../../src/cli/restore/restore-run.ts';
import { runProgram } from '../../cli/run-program.ts';
import { type ConfigOnDisk, createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { type ExecResult, ExecServer } from '../../support/exec-server.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount, type Rule } from '../support/service-account.ts';
import { createDaemonPod, setNodeState } from './machines.ts';
import { StuckCluster } from './stuck-cluster.ts';

const MCS_FILE = '/rootfs/etc/mcs-machine-config-content.json';
const DAEMON_FILE = '/rootfs/etc/machine-config-daemon/currentconfig';
const NO_FILE: ExecResult = { stderr: 'cat: No such file or directory', exitCode: 1 };

const stuck = await StuckCluster.shared();
const { admin } = stuck.cluster;
const api = stuck.connect();
/** The files of the node. */
const disk = new Map<string, ExecResult>();
const kubelet = await ExecServer.start(([, file = '']) => disk.get(file) ?? NO_FILE);
const signal = new AbortController().signal;

afterAll(() => {
  api.close();
  kubelet.stop();
});

let node: string;
let missing: ConfigOnDisk;

beforeEach(async () => {
  disk.clear();
  const pool = await stuck.createStuckPool({ masters: 1, replicas: 1 });
  ({ missing } = pool);
  [node = ''] = pool.masters;
  await createDaemonPod(stuck.cluster, node, kubelet.port);
});

function withoutContent({ spec, name }: ConfigOnDisk): string {
  return toConfigOnDisk('master', { ...spec, config: { ignition: { version: '3.4.0' } } }, name).text;
}

function toLayered({ spec, name }: ConfigOnDisk): string {
  const layered = { ...spec, osImageURL: `quay.io/layered@sha256:${'a'.repeat(64)}` };
  return toConfigOnDisk('master', layered, name).text;
}

test('restores from the file that the machine-config-server has written', async () => {
  disk.set(MCS_FILE, { stdout: missing.text });
  disk.set(DAEMON_FILE, { stdout: withoutContent(missing) });
  const { kubeconfig } = stuck.controlPlane.apiServer;
  const args = ['restore', '--from', `node/${node}`, '--kubeconfig', kubeconfig, '--output', 'json'];

  const { exitCode, stdout } = await runProgram(args);

  expect(exitCode).toBe(0);
  const { configs } = JSON.parse(stdout) as RestoreReport;
  const source = `node/${node}:/etc/mcs-machine-config-content.json`;
  expect(configs).toMatchObject([{ name: missing.name, source, outcome: 'planned', rejection: null }]);
});

test('restores from the file of the daemon if the other one does not match the name, as in image mode', async () => {
  disk.set(MCS_FILE, { stdout: toLayered(missing) });
  disk.set(DAEMON_FILE, { stdout: missing.text });
  const configs = await readConfigsFromNode(api, node, undefined, signal);
  const report = await restore(api, {
    configs,
    isConfirmed: false,
    acceptContent: false,
    timeoutMs: 5_000,
  });
  const source = `node/${node}:/etc/machine-config-daemon/currentconfig`;
  expect(report.configs).toMatchObject([{ name: missing.name, source, outcome: 'planned', warnings: [] }]);
});

test('undoes the image that the machine-config-server has changed, with the image of another config', async () => {
  const { name, spec } = createConfigOnDisk('worker');
  const config = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name },
    spec,
  };
  disk.set(MCS_FILE, { stdout: toLayered(missing) });
  const plan = async () => {
    const configs = await readConfigsFromNode(api, node, undefined, signal);
    return await restore(api, { configs, isConfirmed: false, acceptContent: false, timeoutMs: 5_000 });
  };
  // Without the other config, the image is unknown. The config that the pool names does not match its name either.
  const [rejected] = (await plan()).configs;
  expect(rejected?.rejection).toMatchObject({ code: 'HashDiffers' });
  expect(rejected?.rejection?.advice.text).toContain('in the API does not match its name either');

  await admin.create(PATHS.configs, config);

  const warnings = [expect.stringMatching(/^The machine-config-server has changed osImageURL in node\//)];
  expect((await plan()).configs).toMatchObject([{ name: missing.name, outcome: 'planned', warnings }]);
});

test('restores from the file that the bootstrap host has served', async () => {
  disk.set(MCS_FILE, { stdout: missing.bootstrapText });
  const configs = await readConfigsFromNode(api, node, undefined, signal);
  expect(configs.map(({ name }) => name)).toEqual([missing.name]);
});

test('reads the file of the daemon if the other file has another config', async () => {
  disk.set(MCS_FILE, { stdout: createConfigOnDisk().text });
  disk.set(DAEMON_FILE, { stdout: missing.text });
  const configs = await readConfigsFromNode(api, node, undefined, signal);
  expect(configs.map(({ name, source }) => [name, source])).toEqual([
    [missing.name, `node/${node}:/etc/machine-config-daemon/currentconfig`],
  ]);
});

test('reads both configs if a node names two missing ones', async () => {
  const desired = createConfigOnDisk();
  await stuck.cluster.moveNode(node, { desiredConfig: desired.name });
  disk.set(MCS_FILE, { stdout: missing.text });
  disk.set(DAEMON_FILE, { stdout: desired.text });
  const configs = await readConfigsFromNode(api, node, undefined, signal);
  expect(configs.map(({ name }) => name)).toEqual([missing.name, desired.name]);
});

test('continues with a config that the first run has created', async () => {
  disk.set(MCS_FILE, { stdout: missing.text });
  const options = { isConfirmed: true, acceptContent: false, timeoutMs: 300, intervalMs: 50 };
  await restore(api, { ...options, configs: await readConfigsFromNode(api, node, undefined, signal) });
  await setNodeState(stuck.cluster, node, 'Done');
  const configs = await readConfigsFromNode(api, node, undefined, signal);
  expect(await restore(api, { ...options, configs })).toMatchObject({ ok: true, pausedPools: [] });
});

test.each([
  ['no file exists', () => undefined, /mcs-machine-config-content\.json: cat: No such file/],
  ['the file is no config', () => disk.set(MCS_FILE, { stdout: 'garbage' }), /not one MachineConfig/],
  [
    'the kubelet ends the connection',
    () => disk.set(MCS_FILE, { end: 'close' }),
    /the connection closed before the command ended/,
  ],
])('prints the oc debug command if %s', async (_condition, prepare, reason) => {
  prepare();
  const failure = readConfigsFromNode(api, node, undefined, signal);
  await expect(failure).rejects.toMatchObject({
    name: 'CliError',
    message: expect.stringMatching(reason) as string,
  });
  const command =
    `oc debug node/${node} -- chroot /host cat /etc/mcs-machine-config-content.json` +
    ' | machineconfig-guard restore --from -';
  expect(await describeFailure(failure)).toContain(command);
});

async function describeFailure(reading: Promise<unknown>): Promise<string> {
  const error = await reading.catch((failure: unknown) => failure);
  return (error as CliError).describe(new CommandFormatter('machineconfig-guard', {}));
}

test('prints the oc debug command if the node has no pod of the daemon', async () => {
  const other = await stuck.joinMaster(missing.name, 'Degraded');
  const failure = readConfigsFromNode(api, other, undefined, signal);
  expect(await describeFailure(failure)).toMatch(/has no pod of the machine-config-daemon; .*: oc debug/);
});

test('the rights of both roles suffice, and each right on pods is needed', async () => {
  disk.set(MCS_FILE, { stdout: missing.text });
  const roles = await buildDirectory(stuck.controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
  const [base = [], ofNode = []] = roles.map((role) => (role as unknown as { rules: readonly Rule[] }).rules);
  const tryRead = async (rules: readonly Rule[]) => {
    const user = stuck.connect(await createServiceAccount(admin, unique('reader'), rules));
    const read = () =>
      readConfigsFromNode(user, node, undefined, signal).then(
        (configs) => configs.length,
        (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
      );
    return { read, user };
  };
  const all = await tryRead([...base, ...ofNode]);
  await expect.poll(all.read).toBe(1);
  const withoutPods = await tryRead([...base, ...ofNode.filter(({ resources }) => !resources?.includes('pods'))]);
  await expect.poll(withoutPods.read).toContain('cannot list resource "pods"');
  // This API server asks for the verb get. From Kubernetes 1.35 on, it is create.
  const execRule = { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] };
  const withoutGet = await tryRead([...base, ...ofNode.filter(({ verbs }) => verbs.includes('list')), execRule]);
  await expect.poll(withoutGet.read).toContain('cannot get resource "pods/exec"');
  for (const { user } of [all, withoutPods, withoutGet]) user.close();
});
