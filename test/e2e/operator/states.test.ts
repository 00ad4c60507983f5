import { afterAll, describe, expect, test } from 'vitest';

import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { ExecServer } from '../../support/exec-server.ts';
import { createDaemonPod } from '../restore/machines.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { OPERATOR_NAMESPACE, PATHS } from '../support/paths.ts';
import { runProgram } from '../../cli/run-program.ts';
import type { Machine } from './machine.ts';
import { OperatorCluster } from './operator-cluster.ts';

const MCO = 'machineconfiguration.openshift.io';
const DAEMON_PODS = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`;
const operator = await OperatorCluster.shared();
const { admin, installed } = operator;
const { controlPlane } = installed;
const api = controlPlane.connectApi();

afterAll(async () => {
  api.close();
  await operator.removeMachines();
});

/** Boots a pool with a machine, and lets its spec name a newer config that the operator does not roll out yet. */
async function bootPausedPool(pool: string) {
  const { name, config } = await operator.bootPool(pool);
  await admin.patch(`${PATHS.pools}/${pool}`, { spec: { paused: true } });
  await operator.applySource(pool, `50-${pool}`, { kernelArguments: [`of=${pool}`] });
  return { node: name, old: config, rendered: await operator.awaitRendered(pool, config) };
}

async function deleteAnyway(config: string): Promise<void> {
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
  await admin.patch(`${PATHS.configs}/${config}`, { metadata: { annotations } });
  expect((await installed.cluster.delete(config)).status).toBe(200);
}

async function annotate(node: string, values: Readonly<Record<string, string>>): Promise<void> {
  const entries = Object.entries(values).map(([key, value]) => [`${MCO}/${key}`, value]);
  await admin.patch(`${PATHS.nodes}/${node}`, { metadata: { annotations: Object.fromEntries(entries) } });
}

/** The problems of a node and its pool, and the commands that name them. */
async function check(node: string, pool: string) {
  const { problems, repairs } = await checkCluster(api);
  const own = problems.filter(({ name }) => name === node || name === pool);
  const commands = repairs.map(({ command }) => command?.words as string[]);
  return {
    codes: [...new Set(own.map(({ code }) => code))],
    evidence: own.flatMap(({ evidence }) => evidence ?? []),
    commands: commands.filter((words) => words.some((word) => word.endsWith(node) || word === pool)),
  };
}

/** Waits until the problems have these codes, and returns the first command. */
async function awaitProblems(node: string, pool: string, codes: readonly string[]): Promise<readonly string[]> {
  await expect.poll(async () => (await check(node, pool)).codes, { interval: 300 }).toEqual(codes);
  return (await check(node, pool)).commands[0] ?? [];
}

/** Runs `restore` from the disk of a machine, and returns the command that it advises next. */
async function restore(machine: Machine, ...args: readonly string[]) {
  const kubelet = await ExecServer.start(([, path = '']) => {
    const stdout = machine.disk.get(path.replace('/rootfs', ''));
    return stdout === undefined ? { stderr: 'cat: No such file or directory', exitCode: 1 } : { stdout };
  });
  await createDaemonPod(installed.cluster, machine.name, kubelet.port);
  const flags = ['--confirm', '--output=json', `--kubeconfig=${controlPlane.apiServer.kubeconfig}`];
  const { stdout } = await runProgram([...args.slice(1), ...flags]);
  kubelet.stop();
  // A drain would wait until the kubelet ends it.
  await admin.delete(DAEMON_PODS, { fieldSelector: `spec.nodeName=${machine.name}`, gracePeriodSeconds: '0' });
  const { ok, configs, advice } = JSON.parse(stdout) as RestoreReport;
  expect([ok, configs.map(({ outcome }) => outcome)]).toEqual([true, ['restored']]);
  return (advice[0]?.command as unknown as string | undefined)?.replace(/ --kubeconfig=?\s?\S+/, '').split(' ') ?? [];
}

describe.concurrent('with the real operator', () => {
  test('restores a config that only the reason of a node names', async () => {
    const pool = 'named-by-reason';
    const { node, old, rendered } = await bootPausedPool(pool);
    const machine = operator.findMachine(node);
    machine.needsConfigOfDisk = true;
    await annotate(node, { currentConfig: rendered, desiredConfig: rendered, state: 'Degraded', reason: 'x' });
    await deleteAnyway(old);
    const command = await awaitProblems(node, pool, ['ConfigMissing', 'PoolDegraded']);
    expect(command.slice(1)).toEqual(['restore', old, '--from', `node/${node}`]);

    await restore(machine, ...command);

    await admin.patch(`${PATHS.pools}/${pool}`, { spec: { paused: false } });
    expect(await operator.awaitUpdated(pool, 1)).toBe(rendered);
  });

  test('lets a node name the config of its disk again, from which the operator updates it', async () => {
    const pool = 'unexpected-disk';
    const { node, old, rendered } = await bootPausedPool(pool);
    await deleteAnyway(old);
    await admin.patch(`${PATHS.pools}/${pool}/status`, { status: { configuration: { name: rendered } } });
    await annotate(node, { currentConfig: rendered, desiredConfig: rendered, state: 'Degraded', reason: '' });
    const command = await awaitProblems(node, pool, ['NodeDegraded', 'PoolDegraded']);
    expect(command.slice(1)).toEqual(['restore', '--from', `node/${node}`]);

    const [, ...next] = await restore(operator.findMachine(node), ...command);

    expect(next).toContain(`${MCO}/desiredConfig=${old}`);
    await kubectlOk(controlPlane, next);
    await admin.patch(`${PATHS.pools}/${pool}`, { spec: { paused: false } });
    expect(await operator.awaitUpdated(pool, 1)).toBe(rendered);
  });

  // OpenShift 4.16 and 4.17 refuse to render after a deletion (machine-config-operator#4594). Their modules are not
  // public, so a source that the operator refuses has the same result.
  test('lets a pool name the config that exists if the operator cannot render', async () => {
    const pool = 'cannot-render';
    const { node, old, rendered } = await bootPausedPool(pool);
    await operator.applySource(pool, `60-${pool}`, { config: { ignition: { version: '9.9.9' } } });
    await operator.awaitPool(pool, 'RenderDegraded', ({ status }) => isTrue(status, 'RenderDegraded'));
    await deleteAnyway(rendered);
    await admin.patch(`${PATHS.pools}/${pool}`, { spec: { paused: false } });
    const setSpec = await awaitProblems(node, pool, ['ConfigMissing', 'PoolDegraded']);
    expect((await check(node, pool)).evidence.join(' ')).toContain('Failed to render configuration for pool');
    expect(setSpec.slice(1, 4)).toEqual(['patch', 'machineconfigpool', pool]);
    expect(setSpec.join(' ')).toContain(old);

    await kubectlOk(controlPlane, setSpec.slice(1));
    // This operator then resets the node itself.
    await operator.awaitPool(pool, 'no Degraded machine', ({ status }) => status?.degradedMachineCount === 0);
    await admin.delete(`${PATHS.configs}/60-${pool}`);
    expect(await operator.awaitUpdated(pool, 1, old)).toBe(rendered);
  });
});

type Status = { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } | undefined;

function isTrue(status: Status, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
}
