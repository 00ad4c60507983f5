import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { type ExecResult, ExecServer } from '../../support/exec-server.ts';
import { until } from '../control-plane/until.ts';
import { debianProgram } from '../support/debian-program.ts';
import { PATHS } from '../support/paths.ts';
import { runProcess } from '../support/process.ts';
import { Shell } from '../support/shell.ts';
import { createDaemonPod } from './machines.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const SCRIPT = 'docs/examples/repair-install.sh';
const stuck = await StuckCluster.shared();
const { cluster } = stuck;
const shell = await Shell.open(stuck.controlPlane);
let file: ExecResult = {};
const kubelet = await ExecServer.start(() => file);
let pool: StuckPool;

afterAll(() => kubelet.stop());

beforeEach(async () => {
  pool = await stuck.createStuckPool({ masters: 2, replicas: 3 });
  for (const master of pool.masters) await createDaemonPod(cluster, master, kubelet.port);
});

/** What the daemons and the third machine do once they get the config. */
async function joinAfterRestore() {
  const { missing, masters } = pool;
  await until('the config', () => cluster.exists(missing.name));
  for (const master of masters) await stuck.setNodeState(master, 'Done');
  const isServed = async () => (await stuck.getPause())[2] === missing.name;
  await until('the status of the pool', isServed);
  await stuck.joinMaster(missing.name, 'Done');
}

test('restores what the nodes of a deadlocked install name, and ends when every config exists', async () => {
  file = { stdout: pool.missing.text };
  const [result] = await Promise.all([shell.run(SCRIPT), joinAfterRestore()]);
  expect(result.stderr).toContain(`restoring ${pool.missing.name}, which ${pool.masters.toSorted().join('\t')} name`);
  expect(result.stdout).toMatch(/\nrepaired\n$/);
  expect(result.exitCode).toBe(0);
  expect((await stuck.getPause())[0]).toBe(false);
  expect(await shell.run(SCRIPT)).toMatchObject({ exitCode: 0, stdout: 'nothing to repair\n' });
});

test('exits with 1 and says what is wrong if no node has a copy', async () => {
  file = { stderr: 'cat: No such file or directory', exitCode: 1 };
  const { exitCode, stderr } = await shell.run(`${SCRIPT} 1`);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^still wrong: rendered-master-\w+ does not exist; node .* \(currentConfig\) names it$/m);
  expect(await cluster.admin.find(`${PATHS.configs}/${pool.missing.name}`)).toBeUndefined();
});

test.each([
  ['an argument that is no number', `${SCRIPT} 1m`, 2, 'usage: repair-install.sh [MINUTES]'],
  ['no program', `MACHINECONFIG_GUARD=none ${SCRIPT}`, 2, 'none is not on the PATH'],
  ['no kubeconfig', `KUBECONFIG=/none ${SCRIPT} 0`, 3, '/none'],
])('with %s, ends without a wait', async (_, command, exitCode, message) => {
  const result = await shell.run(command);
  expect(result.stderr).toContain(message);
  expect(result.exitCode).toBe(exitCode);
});

test('shellcheck finds nothing', async () => {
  const { file: shellcheck, env } = await debianProgram('shellcheck', ['shellcheck']);
  const result = await runProcess(shellcheck, [join(shell.home, SCRIPT)], { env });
  expect(result).toMatchObject({ exitCode: 0, stdout: '' });
});
