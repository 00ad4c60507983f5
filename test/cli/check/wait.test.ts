import { expect, test, vi } from 'vitest';
import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/kube/api-paths.ts';
import type { CommandProcess } from '../command-process.ts';
import { annotate, createConfig, createNode, GONE, NEW, startHealthyCluster } from '../inspected-cluster.ts';

async function waitForStderr({ stderr }: CommandProcess, text: string): Promise<void> {
  const hasText = () => {
    expect(stderr()).toContain(text);
  };
  await vi.waitFor(hasText, { timeout: 15_000, interval: 50 });
}

test('waits until the cluster is consistent, with one line per change on stderr', async () => {
  const { cluster, start } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: GONE } } });

  const check = start('check', '--wait', '--output', 'json', '--min-nodes', '3');
  await waitForStderr(check, 'node worker-1: has not reported a configuration yet');
  await waitForStderr(check, `pool worker: spec ${GONE} does not exist`);
  await waitForStderr(check, 'selection: only 2 nodes are in the cluster, 3 are needed');
  annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: GONE });
  await waitForStderr(check, `node worker-1: desiredConfig ${GONE} does not exist`);
  createNode(cluster, 'worker-2', { currentConfig: NEW, desiredConfig: NEW });
  await waitForStderr(check, 'selection: fine');
  createConfig(cluster, GONE);

  const { exitCode, stdout, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as CheckReport;
  expect(report).toMatchObject({ ok: true, canHeal: false, problems: [] });
  expect(report.waitedSeconds).toBeGreaterThan(0);
  const lines = stderr.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^ {2,}\d+s {2}\S/);
  expect(lines.filter((line) => line.includes('worker-1: has not reported'))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/(?:node worker-1|pool worker): fine$/);
});

test('exits with 1 as soon as a problem becomes unrecoverable, and prints the repair', async () => {
  const { cluster, start } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '10m');
  await waitForStderr(check, 'has not reported');
  annotate(cluster, 'worker-1', { currentConfig: GONE, desiredConfig: NEW });
  const { exitCode, stdout } = await check.outcome;
  expect(exitCode).toBe(1);
  expect(stdout).toContain('oc annotate node worker-1 --overwrite');
  expect(stdout).toContain('Waiting does not heal this.');
});

test('exits with 1 after the timeout, and prints how long it waited', async () => {
  const { cluster, start } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const { exitCode, stdout } = await start('check', '--wait', '--timeout', '1s').outcome;
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/\nNot fine: 1 of 2 nodes\. Still so after \ds\.\n$/);
});

test('waits for an API server that becomes unreachable, and exits with 3 if it stays so', async () => {
  const { cluster, start, address } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '20s');
  const impatient = start('check', '--wait', '--timeout', '6s');
  await Promise.all([check, impatient].map((command) => waitForStderr(command, 'has not reported')));
  await cluster.faults.goDown();
  await waitForStderr(check, `${address} cannot be reached: ECONNREFUSED. Trying again.`);
  const { exitCode, stdout, stderr } = await impatient.outcome;
  expect([exitCode, stdout]).toEqual([3, '']);
  expect(stderr).toMatch(/\nmachineconfig-guard: cannot list \S+: \S+ cannot be reached: ECONNREFUSED\.\n$/);

  annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
  await cluster.faults.comeUp();
  const recovered = await check.outcome;
  expect(recovered.exitCode).toBe(0);
  expect(recovered.stderr).toContain('the API server answers again');
});

test('waits until a kind is served: early in an install the CRDs are missing', async () => {
  const { cluster, start } = await startHealthyCluster();
  cluster.serve('machineconfigpools', []);
  const check = start('check', '--wait');
  await waitForStderr(check, 'does not serve machineconfigpools.machineconfiguration.openshift.io');
  cluster.serve('machineconfigpools', ['v1']);
  expect((await check.outcome).exitCode).toBe(0);
});

test('exits with 3 immediately if a permission is missing', async () => {
  const { cluster, run } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === MACHINE_CONFIGS_PATH ? { status: 403 } : 'pass'));
  const stderr = expect.stringContaining('does not permit you to list machineconfigs') as string;
  expect(await run('check', '--wait')).toMatchObject({ exitCode: 3, stderr });
});
