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

  const check = start('check', '--wait', '--output', 'json');
  await waitForStderr(check, 'node worker-1: has not reported a configuration yet');
  await waitForStderr(check, `pool worker: spec ${GONE} does not exist`);
  annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: GONE });
  await waitForStderr(check, `node worker-1: desiredConfig ${GONE} does not exist`);
  createConfig(cluster, GONE);

  const { exitCode, stdout, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as CheckReport;
  expect(report).toMatchObject({ ok: true, canHeal: false, problems: [] });
  expect(report.waitedSeconds).toBeGreaterThan(0);
  const lines = stderr.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^ {2,}\d+s {2}\S/);
  expect(lines.filter((line) => line.includes('has not reported'))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/(?:node worker-1|pool worker): fine$/);
});

test('exits with 1 immediately if a problem is unrecoverable, and prints the repair', async () => {
  const { cluster, start } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { desiredConfig: NEW.replace('rendered', 'render') });
  const { exitCode, stdout } = await start('check', '--wait', '--timeout', '10m').outcome;
  expect(exitCode).toBe(1);
  const text = stdout.replaceAll(/[\s\\]+/g, ' ');
  expect(text).toContain(`Nearest existing name: ${NEW}.`);
  const annotation = `machineconfiguration.openshift.io/desiredConfig=${NEW}`;
  expect(text).toContain(`oc annotate node worker-0 --overwrite ${annotation}`);
  expect(text).toContain('Waiting does not heal this.');
});

test('exits with 1 as soon as a problem becomes unrecoverable', async () => {
  const { cluster, start } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '10m', '--output', 'json');
  await waitForStderr(check, 'has not reported');
  annotate(cluster, 'worker-1', { currentConfig: GONE, desiredConfig: GONE });
  const { exitCode, stdout } = await check.outcome;
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, canHeal: false });
});

test('exits with 1 after the timeout, and prints how long it waited', async () => {
  const { cluster, start } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const { exitCode, stdout } = await start('check', '--wait', '--timeout', '1s').outcome;
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/\nNot fine: 1 of 2 nodes\. Still so after \ds\.\n$/);
});

test('waits for an API server that becomes unreachable', async () => {
  const { cluster, start, address } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const check = start('check', '--wait');
  await waitForStderr(check, 'has not reported');
  await cluster.faults.goDown();
  await waitForStderr(check, `${address} cannot be reached: ECONNREFUSED. Trying again.`);
  annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
  await cluster.faults.comeUp();
  const { exitCode, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('the API server answers again');
});

test('exits with 3 if the API server is unreachable at the timeout', async () => {
  const { cluster, start, address } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '6s');
  await waitForStderr(check, 'has not reported');
  await cluster.faults.goDown();
  const { exitCode, stdout, stderr } = await check.outcome;
  expect([exitCode, stdout]).toEqual([3, '']);
  const lastLine = stderr.trimEnd().split('\n').at(-1);
  expect(lastLine).toMatch(/^machineconfig-guard: cannot list \S+: \S+ cannot be reached/);
  expect(lastLine).toContain(address);
});

test('exits with 3 immediately if a permission is missing', async () => {
  const { cluster, start } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === MACHINE_CONFIGS_PATH ? { status: 403 } : 'pass'));
  const { exitCode, stderr } = await start('check', '--wait').outcome;
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^machineconfig-guard: the API server at \S+ does not permit you to list machineconfigs/);
});

test('waits until a kind is served: early in an install the CRDs are missing', async () => {
  const { cluster, start } = await startHealthyCluster();
  cluster.serve('machineconfigpools', []);
  const check = start('check', '--wait');
  await waitForStderr(check, 'does not serve machineconfigpools.machineconfiguration.openshift.io');
  cluster.serve('machineconfigpools', ['v1']);
  expect((await check.outcome).exitCode).toBe(0);
});

test('waits until there are enough nodes', async () => {
  const { cluster, start } = await startHealthyCluster();
  const check = start('check', '--wait', '--min-nodes', '2');
  await waitForStderr(check, 'selection: only 1 node is in the cluster, 2 are needed');
  createNode(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
  const { exitCode, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('selection: fine');
});
