import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkCluster } from '../../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../../src/cli/restore/restore-run.ts';
import { hasCondition } from '../../support/cluster.ts';
import { kubectlOk } from '../../support/kubectl.ts';
import { PATHS } from '../../support/objects.ts';
import { runProgramOk } from '../../support/programs.ts';
import { DIGEST_MIRRORS, renderBootstrap, TAG_MIRRORS, writeManifests } from '../bootstrap-host.ts';
import { readName, SERVED_FILE, startMachineConfigServer } from '../machine-config-server.ts';
import { OperatorCluster } from '../operator-cluster.ts';
import type { IgnitionConfig } from './ignition.ts';
import { UPDATE_FILE } from './disk.ts';
import type { Machine } from './machine.ts';

const MASTER_ROLES = ['control-plane', 'master'];

const operator = await OperatorCluster.shared();
const { admin, binaries, installed, server } = operator;
const { controlPlane } = installed;
const { apiServer, directory } = controlPlane;
const api = controlPlane.connectApi();

afterAll(async () => {
  api.close();
  await operator.removeMachines();
});

/** Runs `restore` with the program until the config is restored. */
async function restore(...args: readonly string[]): Promise<void> {
  const flags = ['--confirm', '--output=json', '--timeout=3m', `--kubeconfig=${apiServer.kubeconfig}`];
  const report = JSON.parse(await runProgramOk('restore', ...args, ...flags)) as RestoreReport;
  expect(report).toMatchObject({ ok: true, pausedPools: [], configs: [{ outcome: 'restored' }] });
}

/** Restores a config from the file of the machine-config-server, as a person copies it from a disk. */
async function restoreFromFile(machine: Machine, config: string) {
  const file = join(directory, `${config}.json`);
  await writeFile(file, machine.read(SERVED_FILE) ?? '');
  await restore(config, '--from', file);
}

/** What the real bootstrap host serves to masters if one file has several documents. */
async function fetchFromBootstrapHost(): Promise<IgnitionConfig> {
  const manifests = await writeManifests(directory, { 'mirrors.yaml': [DIGEST_MIRRORS, TAG_MIRRORS] });
  const { directory: rendered } = await renderBootstrap(binaries, manifests);
  const args = ['bootstrap', `--server-basedir=${rendered}`, `--bootstrap-kubeconfig=${apiServer.kubeconfig}`];
  const bootstrapServer = await startMachineConfigServer(controlPlane, binaries, 'bootstrap-server', args);
  const config = await bootstrapServer.fetchConfig('master');
  await bootstrapServer.stop();
  if (config === undefined) throw new Error('the bootstrap host serves no config');
  return config;
}

async function deleteAnyway(config: string): Promise<void> {
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
  await admin.patch(`${PATHS.configs}/${config}`, { metadata: { annotations } });
  expect((await installed.cluster.delete(config)).status).toBe(200);
}

function setPaused(pool: string, paused: boolean) {
  return admin.patch(`${PATHS.pools}/${pool}`, { spec: { paused } });
}

/** Lets the spec of a pool with one machine name a newer config, which the operator does not roll out yet. */
async function renderPaused(pool: string) {
  const old = await operator.awaitUpdated(pool, 1);
  await setPaused(pool, true);
  await operator.applySource(pool, `50-${pool}`, { kernelArguments: [`after=${old}`] });
  return { old, rendered: await operator.awaitRendered(pool, old) };
}

/** Deletes the config that the machine of a pool runs, just before the operator updates it. Returns the config. */
async function deleteConfigInUse(pool: string) {
  const { old } = await renderPaused(pool);
  await deleteAnyway(old);
  await setPaused(pool, false);
  await operator.awaitPool(pool, 'a Degraded machine', ({ status }) => status?.degradedMachineCount === 1);
  expect(await server.fetchName(pool)).toBeUndefined();
  return old;
}

describe.concurrent('with the real operator', () => {
  test('ends the deadlock of masters whose config was never in the API', async () => {
    const config = await fetchFromBootstrapHost();
    const missing = await readName(config);
    // The operator of the cluster starts after two masters have joined. It has only the first document of the file.
    await operator.stopController();
    const [first] = await Promise.all(
      ['control1', 'control2'].map((name) => operator.boot(name, MASTER_ROLES, { config })),
    );
    await operator.createBuiltInPool('master');
    await operator.startController();
    const { spec, status } = await operator.awaitPool('master', 'two Degraded machines', (pool) => {
      return pool.status?.degradedMachineCount === 2;
    });
    expect(spec.configuration?.name).not.toBe(missing);
    expect(status?.configuration?.name).toBeUndefined();
    expect(await installed.cluster.exists(missing)).toBe(false);
    expect(await server.fetchName('master')).toBeUndefined();

    const [third] = await Promise.all([
      operator.boot('control0', MASTER_ROLES),
      restoreFromFile(first as Machine, missing),
    ]);

    expect(third.read(SERVED_FILE)).toContain(missing);
    // The operator renders again when it has written its last sources.
    const rendered = await operator.awaitUpdated('master', 3);
    expect(rendered).not.toBe(missing);
    expect(await server.fetchName('master')).toBe(rendered);
  });

  test('creates a deleted config again from the file of the server, and after an update from the disk', async () => {
    const { machine } = await operator.bootPool('served');
    const first = await deleteConfigInUse('served');
    const { metadata, ...fields } = JSON.parse(machine.read(SERVED_FILE) ?? '') as { metadata: { name: string } };
    // The bootstrap server also writes apiVersion and kind.
    expect([metadata.name, Object.keys(fields)]).toEqual([first, ['spec']]);

    await restoreFromFile(machine, first);

    await operator.awaitUpdated('served', 1, first);
    const second = await deleteConfigInUse('served');
    expect(machine.read(UPDATE_FILE)).toContain(second);

    await restore(second, '--from', `node/${machine.name}`);

    await operator.awaitUpdated('served', 1, second);
  });

  // OpenShift 4.16 and 4.17 refuse to render after a deletion (machine-config-operator#4594). Their modules are not
  // public, so a source that the operator refuses has the same result.
  test('lets a pool name the config that exists if the operator cannot render', async () => {
    const pool = 'cannot-render';
    await operator.bootPool(pool);
    const { old, rendered } = await renderPaused(pool);
    await operator.applySource(pool, `60-${pool}`, { config: { ignition: { version: '9.9.9' } } });
    await operator.awaitPool(pool, 'RenderDegraded', (each) => hasCondition(each, 'RenderDegraded'));
    await deleteAnyway(rendered);
    await setPaused(pool, false);
    const command = await operator.until(`a command for pool ${pool}`, async () => {
      const { repairs } = (await checkCluster(api)).report;
      const commands = repairs.map((repair) => repair.command?.words as string[]);
      return commands.find((words) => words.slice(1, 4).join(' ') === `patch machineconfigpool ${pool}`)?.slice(1);
    });
    expect(command.join(' ')).toContain(old);

    await kubectlOk(controlPlane, command);
    // This operator then resets the node itself.
    await operator.awaitPool(pool, 'no Degraded machine', ({ status }) => status?.degradedMachineCount === 0);
    await admin.delete(`${PATHS.configs}/60-${pool}`);
    expect(await operator.awaitUpdated(pool, 1, old)).toBe(rendered);
  });
});
