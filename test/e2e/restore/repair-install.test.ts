import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type ExecResult, startExecServer } from '../../support/exec-server.ts';
import { until } from '../control-plane/until.ts';
import { debianProgram } from '../support/programs.ts';
import { PATHS } from '../support/objects.ts';
import { runProcess } from '../support/process.ts';
import { openShell } from '../support/shell.ts';
import type { Pool } from '../support/cluster.ts';
import { createDaemonPod, deleteDaemonPods } from './machines.ts';
import { whileNodesRecover } from '../support/cluster-states.ts';
import { createStuckInstall, installed, MASTERS, MISSING } from './stuck-install.ts';

const SCRIPT = 'docs/examples/repair-install.sh';
const { cluster, controlPlane } = installed;
const shell = await openShell(controlPlane);
let file: ExecResult = {};
const kubelet = await startExecServer(() => file);

beforeEach(async () => {
  await createStuckInstall();
  await deleteDaemonPods(cluster);
  for (const master of MASTERS) await createDaemonPod(cluster, master, kubelet.port);
});
afterAll(async () => {
  kubelet.stop();
  await installed.clear();
  await deleteDaemonPods(cluster);
});

const findPool = async () => (await cluster.admin.find(`${PATHS.pools}/master`)) as Pool;

/** The third machine joins once the pool serves the config. */
async function joinAfterRestore() {
  const { name } = MISSING;
  await until('the status of the pool', async () => (await findPool()).status?.configuration?.name === name);
  await cluster.node({ name: 'control0', role: 'master', currentConfig: name, desiredConfig: name });
}

test('restores what the nodes of a deadlocked install name, and ends when every config exists', async () => {
  file = { stdout: MISSING.text };
  const [result] = await Promise.all([whileNodesRecover(installed, shell.run(SCRIPT)), joinAfterRestore()]);
  expect(result.stderr).toContain(`restoring ${MISSING.name}, which ${MASTERS.join('\t')} name`);
  expect(result.stdout).toMatch(/\nrepaired\n$/);
  expect(result.exitCode).toBe(0);
  expect((await findPool()).spec.paused).toBe(false);
  expect(await shell.run(SCRIPT)).toMatchObject({ exitCode: 0, stdout: 'nothing to repair\n' });
});

test('restores from a copy of the bootstrap host if no node has one', async () => {
  file = { stderr: 'cat: No such file or directory', exitCode: 1 };
  const copies = await mkdtemp(join(tmpdir(), 'mcg-bootstrap-'));
  await writeFile(join(copies, `${MISSING.name}.json`), MISSING.text);
  const script = shell.run(`${SCRIPT} 30 /none ${copies}`);
  const [{ exitCode, stdout }] = await Promise.all([whileNodesRecover(installed, script), joinAfterRestore()]);
  await rm(copies, { recursive: true });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/\nrepaired\n$/)]);
});

test('exits with 1 and says what is wrong if no node has a copy', async () => {
  file = { stderr: 'cat: No such file or directory', exitCode: 1 };
  const { exitCode, stderr } = await shell.run(`${SCRIPT} 1`);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^still wrong: rendered-master-\w+ does not exist; node .* \(currentConfig\) names it$/m);
  expect(await cluster.exists(MISSING.name)).toBe(false);
});

test.each([
  ['an argument that is no number', `${SCRIPT} 1m`, 2, 'usage: repair-install.sh [MINUTES [SOURCE...]]'],
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
