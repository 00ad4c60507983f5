import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { hasCondition } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { MCO, PATHS } from '../support/objects.ts';
import { runProgramOk } from '../support/programs.ts';
import { DIGEST_MIRRORS, renderBootstrap, TAG_MIRRORS, writeManifests } from './bootstrap-host.ts';
import { CURRENT_FILE, type Machine } from './machine.ts';
import { type Files, readName, SERVED_FILE, startMachineConfigServer } from './machine-config-server.ts';
import { OperatorCluster } from './operator-cluster.ts';

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

/** Runs `restore` with the program, and returns the command that it advises next. */
async function restore(...args: readonly string[]): Promise<readonly string[]> {
  const flags = ['--confirm', '--output=json', '--timeout=3m', `--kubeconfig=${apiServer.kubeconfig}`];
  const stdout = await runProgramOk('restore', ...args, ...flags);
  const report = JSON.parse(stdout) as RestoreReport;
  expect(report).toMatchObject({ ok: true, pausedPools: [], configs: [{ outcome: 'restored' }] });
  const next = report.advice[0]?.command as unknown as string | undefined;
  return next?.replace(/ --kubeconfig=?\s?\S+/, '').split(' ') ?? [];
}

/** Restores a config from the file of the machine-config-server, as a person copies it from a disk. */
async function restoreFromFile(disk: Files) {
  const file = join(directory, `${readName(disk)}.json`);
  await writeFile(file, disk.get(SERVED_FILE) ?? '');
  await restore(readName(disk), '--from', file);
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

/** Lets the node name a config that it does not run, as the published repairs do. */
function nameConfig({ name }: Machine, config: string, reason: string) {
  return installed.cluster.moveNode(name, { currentConfig: config, desiredConfig: config, state: 'Degraded', reason });
}

/** Waits until the problems of a pool and its node have these codes and a command names one. Returns the first. */
async function awaitProblems({ name: node }: Machine, pool: string, codes: readonly string[]) {
  const check = async () => {
    const { problems, repairs } = (await checkCluster(api)).report;
    const own = problems.filter(({ name }) => name === node || name === pool);
    const commands = repairs.map(({ command }) => command?.words as string[]);
    return {
      codes: [...new Set(own.map(({ code }) => code))],
      evidence: own.flatMap(({ evidence }) => evidence ?? []).join(' '),
      command: commands.find((words) => words.some((word) => word.endsWith(node) || word === pool))?.slice(1) ?? [],
    };
  };
  let found: Awaited<ReturnType<typeof check>> | undefined;
  // Vitest does not know the test of `expect.poll` once another one beside it has ended.
  return operator.until(
    () => `a command for ${codes.join()} of pool ${pool}; the last problems were ${found?.codes.join()}`,
    async () => {
      found = await check();
      // The daemon gives its reason some time after the node is Degraded.
      return isDeepStrictEqual(found.codes, codes) && found.command.length > 0 && found;
    },
  );
}

describe.concurrent('with the real operator', () => {
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
    expect(spec.configuration?.name).not.toBe(missing);
    expect(status?.configuration?.name).toBeUndefined();
    expect(await installed.cluster.exists(missing)).toBe(false);
    expect(await server.fetchName('master')).toBeUndefined();

    const [machine] = await Promise.all([operator.boot('control0', MASTER_ROLES), restoreFromFile(files)]);

    expect(readName(machine.disk)).toBe(missing);
    // The operator renders again when it has written its last sources.
    const rendered = await operator.awaitUpdated('master', 3);
    expect(rendered).not.toBe(missing);
    expect(await server.fetchName('master')).toBe(rendered);
  });

  test('creates a deleted config again from the file of the server, and after an update from the disk', async () => {
    const { machine } = await operator.bootPool('served');
    const { name, disk } = machine;
    const first = await deleteConfigInUse('served');
    expect(readName(disk)).toBe(first);
    // The bootstrap server also writes apiVersion and kind.
    const fields = Object.keys(JSON.parse(disk.get(SERVED_FILE) ?? '') as object);
    expect(fields.toSorted()).toEqual(['metadata', 'spec']);

    await restoreFromFile(disk);

    await operator.awaitUpdated('served', 1, first);
    const second = await deleteConfigInUse('served');
    expect(disk.get(CURRENT_FILE)).toContain(second);

    await operator.withDaemon(machine, () => restore(second, '--from', `node/${name}`));

    await operator.awaitUpdated('served', 1, second);
  });

  test('restores a config that only the reason of a node names', async () => {
    const pool = 'named-by-reason';
    const { machine } = await operator.bootPool(pool);
    const { old, rendered } = await renderPaused(pool);
    machine.needsConfigOfDisk = true;
    await deleteAnyway(old);
    await nameConfig(machine, rendered, 'x');
    const { command } = await awaitProblems(machine, pool, ['ConfigMissing', 'PoolDegraded']);
    expect(command).toEqual(['restore', old, '--from', `node/${machine.name}`]);

    await operator.withDaemon(machine, () => restore(...command.slice(1)));

    await setPaused(pool, false);
    expect(await operator.awaitUpdated(pool, 1)).toBe(rendered);
  });

  test('lets a node name the config of its disk again, from which the operator updates it', async () => {
    const pool = 'unexpected-disk';
    const { machine } = await operator.bootPool(pool);
    const { old, rendered } = await renderPaused(pool);
    await deleteAnyway(old);
    await admin.patch(`${PATHS.pools}/${pool}/status`, { status: { configuration: { name: rendered } } });
    await nameConfig(machine, rendered, '');
    const { command } = await awaitProblems(machine, pool, ['NodeDegraded', 'PoolDegraded']);
    expect(command).toEqual(['restore', '--from', `node/${machine.name}`]);

    const [, ...next] = await operator.withDaemon(machine, () => restore(...command.slice(1)));

    expect(next).toContain(`${MCO}/desiredConfig=${old}`);
    await kubectlOk(controlPlane, next);
    await setPaused(pool, false);
    expect(await operator.awaitUpdated(pool, 1)).toBe(rendered);
  });

  // OpenShift 4.16 and 4.17 refuse to render after a deletion (machine-config-operator#4594). Their modules are not
  // public, so a source that the operator refuses has the same result.
  test('lets a pool name the config that exists if the operator cannot render', async () => {
    const pool = 'cannot-render';
    const { machine } = await operator.bootPool(pool);
    const { old, rendered } = await renderPaused(pool);
    await operator.applySource(pool, `60-${pool}`, { config: { ignition: { version: '9.9.9' } } });
    await operator.awaitPool(pool, 'RenderDegraded', (each) => hasCondition(each, 'RenderDegraded'));
    await deleteAnyway(rendered);
    await setPaused(pool, false);
    const { command, evidence } = await awaitProblems(machine, pool, ['ConfigMissing', 'PoolDegraded']);
    expect(evidence).toContain('Failed to render configuration for pool');
    expect(command.slice(0, 3)).toEqual(['patch', 'machineconfigpool', pool]);
    expect(command.join(' ')).toContain(old);

    await kubectlOk(controlPlane, command);
    // This operator then resets the node itself.
    await operator.awaitPool(pool, 'no Degraded machine', ({ status }) => status?.degradedMachineCount === 0);
    await admin.delete(`${PATHS.configs}/60-${pool}`);
    expect(await operator.awaitUpdated(pool, 1, old)).toBe(rendered);
  });
});
