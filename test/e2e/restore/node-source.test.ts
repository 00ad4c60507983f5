import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { readConfigsFromNode } from '../../../src/cli/restore/read-sources.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { readClusterSnapshot } from '../../../src/client/cluster-reader.ts';
import type { CliError } from '../../../src/client/exit.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { runProgram } from '../../cli/run-program.ts';
import { type ConfigOnDisk, createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { type ExecResult, ExecServer } from '../../support/exec-server.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { createDaemonPod } from './machines.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const MCS_FILE = '/etc/mcs-machine-config-content.json';
const DAEMON_FILE = '/etc/machine-config-daemon/currentconfig';
const NO_FILE: ExecResult = { stderr: 'cat: No such file or directory', exitCode: 1 };

const stuck = await StuckCluster.shared();
const { admin } = stuck.cluster;
const api = stuck.connect();
const { signal } = new AbortController();
/** The files of the node. */
const disk = new Map<string, string | ExecResult>();
const kubelet = await ExecServer.start(([, file = '']) => {
  const result = disk.get(file.replace(/^\/rootfs/, '')) ?? NO_FILE;
  return typeof result === 'string' ? { stdout: result } : result;
});

afterAll(() => {
  api.close();
  kubelet.stop();
});

let node: string;
let pool: StuckPool;
let missing: ConfigOnDisk;

beforeEach(async () => {
  disk.clear();
  pool = await stuck.createStuckPool({ masters: 1, replicas: 1 });
  ({ missing } = pool);
  [node = ''] = pool.masters;
  await createDaemonPod(stuck.cluster, node, kubelet.port);
});

const readNode = async (client = api) =>
  await readConfigsFromNode(node, {
    api: client,
    snapshot: await readClusterSnapshot(client, undefined, signal),
    name: undefined,
    isConfirmed: false,
    signal,
  });

function change({ spec, name }: ConfigOnDisk, changes: object): string {
  return toConfigOnDisk('master', { ...spec, ...changes }, name).text;
}

const IS_SERVED = expect.stringMatching(/^New machines of pool master boot with the content of node\//) as string;
const WITHOUT_CONTENT = { config: { ignition: { version: '3.4.0' } } };
const LAYERED = { osImageURL: `quay.io/layered@sha256:${'a'.repeat(64)}` };

test.each<[string, toServed: () => string | ExecResult, toCurrent: () => string | ExecResult, file: string]>([
  ['the file of the machine-config-server', () => missing.text, () => change(missing, WITHOUT_CONTENT), MCS_FILE],
  ['the file that the bootstrap host has served', () => missing.bootstrapText, () => NO_FILE, MCS_FILE],
  ['the file of the daemon in image mode', () => change(missing, LAYERED), () => missing.text, DAEMON_FILE],
  ['the file of the daemon if the other one is old', () => createConfigOnDisk().text, () => missing.text, DAEMON_FILE],
])('plans to restore from %s', async (_name, toServed, toCurrent, file) => {
  disk.set(MCS_FILE, toServed());
  disk.set(DAEMON_FILE, toCurrent());
  const flags = ['--kubeconfig', stuck.controlPlane.apiServer.kubeconfig, '--output', 'json'];

  const { exitCode, stdout } = await runProgram(['restore', '--from', `node/${node}`, ...flags]);

  const { configs } = JSON.parse(stdout) as RestoreReport;
  const source = `node/${node}:${file}`;
  expect(configs).toMatchObject([{ name: missing.name, source, outcome: 'planned', warnings: [IS_SERVED] }]);
  expect(exitCode).toBe(0);
});

test('reads both configs if a node names two missing ones', async () => {
  const desired = createConfigOnDisk();
  await stuck.cluster.moveNode(node, { desiredConfig: desired.name });
  disk.set(MCS_FILE, missing.text);
  disk.set(DAEMON_FILE, desired.text);
  expect((await readNode()).map(({ name }) => name)).toEqual([missing.name, desired.name]);
});

test('continues with a config that the first run has created', async () => {
  disk.set(MCS_FILE, missing.text);
  const stay = [/^waiting/, async () => {}] as const;
  await stuck.restore(pool, { api, configs: await readNode(), timeoutMs: 300, reactions: [stay] });
  const { report } = await stuck.restore(pool, { api, configs: await readNode() });
  expect(report).toMatchObject({ ok: true, pausedPools: [] });
});

async function describeFailure(reading: Promise<unknown>): Promise<string> {
  const error = await reading.catch((failure: unknown) => failure);
  return (error as CliError).describe(new CommandFormatter('machineconfig-guard', {}));
}

test.each<[string, string | ExecResult, RegExp]>([
  ['no file exists', NO_FILE, /mcs-machine-config-content\.json: cat: No such file/],
  [
    'a hostile node has a file that is no config',
    '\u001B]52;c;YQ==\u0007',
    /: node\/\S+content\.json is neither JSON nor YAML/,
  ],
  ['a hostile node prints on standard error', { stderr: '\u001B[2J', exitCode: 1 }, /content\.json: \[2J/],
  ['the kubelet ends the connection', { end: 'close' }, /the connection closed before the command ended/],
])('prints the way by SSH if %s', async (_condition, result, reason) => {
  disk.set(MCS_FILE, result);
  const text = await describeFailure(readNode());
  expect(text).toMatch(reason);
  expect(text).not.toMatch(/\p{Cc}/u);
  expect(text).toContain(
    `read it with SSH; if that file has another config, read ${DAEMON_FILE}: ` +
      `ssh core@${node} sudo cat ${MCS_FILE} | machineconfig-guard restore ${missing.name} --from -`,
  );
});

test('prints the way by SSH if the node has no pod of the daemon, first the file of the last update', async () => {
  node = await stuck.joinMaster(missing.name, 'Degraded');
  expect(await describeFailure(readNode())).toMatch(
    /no pod of the machine-config-daemon; .*: ssh core@\S+ sudo cat \S+mcs/,
  );
  await stuck.setPoolStatus({ configuration: { name: pool.rendered } });
  expect(await describeFailure(readNode())).toMatch(/read \/etc\/mcs-\S+: ssh core@\S+ sudo cat \S+currentconfig/);
});

test('the rights of both roles suffice, and each right on pods is needed', async () => {
  disk.set(MCS_FILE, missing.text);
  const roles = await buildDirectory(stuck.controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
  const [base = [], ofNode = []] = roles.map(({ rules }) => rules);
  const expectReads = async (rules: readonly Rule[], expected: string) => {
    const user = stuck.connect(await createServiceAccount(admin, unique('reader'), [...base, ...rules]));
    const read = () =>
      readNode(user).then(
        (configs) => configs.map(({ name }) => name).join(),
        (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
      );
    await expect.poll(read).toContain(expected);
    user.close();
  };
  await expectReads(ofNode, missing.name);
  const withoutPods = ofNode.filter(({ resources }) => !resources?.includes('pods'));
  await expectReads(withoutPods, 'cannot list resource "pods"');
  // This API server asks for the verb get. From Kubernetes 1.35 on, it is create.
  const execRule = { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] };
  const withoutGet = [...ofNode.filter(({ verbs }) => verbs.includes('list')), execRule];
  await expectReads(withoutGet, 'cannot get resource "pods/exec"');
});
