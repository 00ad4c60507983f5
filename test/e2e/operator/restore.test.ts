import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { ExecServer } from '../../support/exec-server.ts';
import { createDaemonPod } from '../restore/machines.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/paths.ts';
import { runProgramOk } from '../support/program.ts';
import { DIGEST_MIRRORS, renderBootstrap, TAG_MIRRORS, writeManifests } from './bootstrap-host.ts';
import { CURRENT_FILE } from './machine.ts';
import { type Files, readName, SERVED_FILE, startMachineConfigServer } from './machine-config-server.ts';
import { OperatorCluster } from './operator-cluster.ts';

const MASTER_ROLES = ['control-plane', 'master'];
const DAEMON_PODS = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`;
/** Where the pod of the machine-config-daemon mounts the disk. */
const HOST_ROOT = '/rootfs';

const operator = await OperatorCluster.shared();
const { admin, binaries, installed, server } = operator;
const { controlPlane } = installed;
const { apiServer, directory } = controlPlane;

afterAll(() => operator.removeMachines());

/** Restores a config with the program. */
async function restore(config: string, source: string) {
  const flags = ['--confirm', '--output=json', '--timeout=3m', `--kubeconfig=${apiServer.kubeconfig}`];
  const stdout = await runProgramOk('restore', '--from', source, ...flags);
  const report = JSON.parse(stdout) as RestoreReport;
  expect(report).toMatchObject({ ok: true, pausedPools: [], configs: [{ name: config, outcome: 'restored' }] });
}

/** Restores a config from the file of the machine-config-server, as a person copies it from a disk. */
async function restoreFromFile(disk: Files) {
  const file = join(directory, `${readName(disk)}.json`);
  await writeFile(file, disk.get(SERVED_FILE) ?? '');
  await restore(readName(disk), file);
}

/** What the real bootstrap host serves to masters if one file has several documents. */
async function fetchFromBootstrapHost(): Promise<Files> {
  const manifests = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS, TAG_MIRRORS] });
  const { directory: rendered } = await renderBootstrap(binaries, manifests);
  const args = ['bootstrap', `--server-basedir=${rendered}`, `--bootstrap-kubeconfig=${apiServer.kubeconfig}`];
  const bootstrapServer = await startMachineConfigServer(controlPlane, binaries, 'bootstrap-server', args);
  const files = await bootstrapServer.fetchFiles('master');
  await bootstrapServer.stop();
  if (files === undefined) throw new Error('the bootstrap host serves no config');
  return files;
}

/** Deletes the config that the machine of a pool runs, just before the operator updates it. Returns the config. */
async function deleteConfigInUse(pool: string) {
  const config = await operator.awaitUpdated(pool, 1);
  const path = `${PATHS.pools}/${pool}`;
  await admin.patch(path, { spec: { paused: true } });
  await operator.applySource(pool, `50-${pool}`, { kernelArguments: [`after=${config}`] });
  await operator.awaitRendered(pool, config);
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
  await admin.patch(`${PATHS.configs}/${config}`, { metadata: { annotations } });
  expect((await installed.cluster.delete(config)).status).toBe(200);
  await admin.patch(path, { spec: { paused: false } });
  await operator.awaitPool(pool, 'a Degraded machine', ({ status }) => status?.degradedMachineCount === 1);
  expect(await server.fetchName(pool)).toBeUndefined();
  return config;
}

describe.concurrent('restore', () => {
  test('ends the deadlock of masters whose config was never in the API', async () => {
    const files = await fetchFromBootstrapHost();
    const missing = readName(files);
    // The operator of the cluster starts after two masters have joined. It has only the first document of the file.
    await operator.stopController();
    for (const name of ['control1', 'control2']) await operator.boot(name, MASTER_ROLES, files);
    await operator.createBuiltInPool('master');
    await operator.startController();
    const { spec, status } = await operator.awaitPool('master', 'two Degraded machines', (pool) => {
      return pool.status?.degradedMachineCount === 2;
    });
    const rendered = spec.configuration?.name;
    expect(rendered).not.toBe(missing);
    expect(status?.configuration?.name).toBeUndefined();
    expect(await installed.cluster.exists(missing)).toBe(false);
    expect(await server.fetchName('master')).toBeUndefined();

    const [machine] = await Promise.all([operator.boot('control0', MASTER_ROLES), restoreFromFile(files)]);

    expect(readName(machine.disk)).toBe(missing);
    expect(await operator.awaitUpdated('master', 3)).toBe(rendered);
    expect(await server.fetchName('master')).toBe(rendered);
  });

  test('creates a deleted config again from the file of the server, and after an update from the disk', async () => {
    const { name, disk } = await operator.bootPool('served');
    const first = await deleteConfigInUse('served');
    expect(readName(disk)).toBe(first);
    // The bootstrap server also writes apiVersion and kind.
    const fields = Object.keys(JSON.parse(disk.get(SERVED_FILE) ?? '') as object);
    expect(fields.toSorted()).toEqual(['metadata', 'spec']);

    await restoreFromFile(disk);

    await operator.awaitUpdated('served', 1, first);
    const second = await deleteConfigInUse('served');
    expect(disk.get(CURRENT_FILE)).toContain(second);
    const kubelet = await ExecServer.start(([, path = '']) => {
      const stdout = disk.get(path.slice(HOST_ROOT.length));
      return stdout === undefined ? { stderr: 'cat: No such file or directory', exitCode: 1 } : { stdout };
    });
    await createDaemonPod(installed.cluster, name, kubelet.port);

    await restore(second, `node/${name}`);

    kubelet.stop();
    // The operator would wait until the kubelet ends it, because no DaemonSet owns it.
    await admin.delete(DAEMON_PODS, { gracePeriodSeconds: '0' });
    await operator.awaitUpdated('served', 1, second);
  });
});
