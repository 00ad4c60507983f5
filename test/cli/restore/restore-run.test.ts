import { expect, test, vi } from 'vitest';
import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { fakeUntilEnd } from '../../support/until-end.ts';
import { createConfig, createNode, createPool } from '../inspected-cluster.ts';

const MASTER = createConfigOnDisk('master');
const WORKER = createConfigOnDisk('worker');

/** Pools with an empty status, whose nodes are Degraded and name a missing config. */
async function startStuckCluster(): Promise<TestCluster> {
  const cluster = await startTestCluster();
  createStuckPool(cluster, 'master', MASTER.name, ['control0', 'control1']);
  createStuckPool(cluster, 'worker', WORKER.name, ['worker0']);
  return cluster;
}

function createStuckPool(cluster: TestCluster, role: string, missing: string, nodes: readonly string[]): void {
  const { name: rendered } = createConfigOnDisk(role);
  createConfig(cluster, rendered);
  createPool(cluster, role, { spec: rendered });
  cluster.patch('machineconfigpools', role, { status: { machineCount: nodes.length, updatedMachineCount: 0 } });
  const annotations = { currentConfig: missing, desiredConfig: missing, state: 'Degraded', reason: 'missing config' };
  for (const name of nodes) createNode(cluster, name, annotations, role);
}

/** Time passes only in the pauses between two reads. */
async function runRestore(cluster: TestCluster, options: Partial<RestoreOptions>) {
  fakeUntilEnd('performance');
  const { report } = await restore(cluster.connect(), {
    configs: [MASTER.config, WORKER.config],
    isConfirmed: true,
    acceptContent: false,
    timeoutMs: 60_000,
    sleep: async (ms) => void vi.advanceTimersByTime(ms),
    ...options,
  });
  return report;
}

test('names the nodes of two pools that stay Degraded', async () => {
  const report = await runRestore(await startStuckCluster(), { controlPlaneReplicas: 2 });
  const outcomes = report.configs.map(({ outcome }) => outcome);
  expect([report.ok, outcomes, report.pausedPools]).toEqual([false, ['restored', 'restored'], []]);
  expect(report.problem).toBe(
    'still waiting until control0 and control1 leave Degraded ("missing config"); ' +
      'until worker0 leaves Degraded ("missing config")',
  );
});

test('unpauses a pool while another pool waits for a machine', async () => {
  const cluster = await startStuckCluster();
  const report = await runRestore(cluster, { controlPlaneReplicas: 3 });
  expect(report.configs.map(({ outcome }) => outcome)).toEqual(['incomplete', 'restored']);
  expect(report.problem).toBe('timed out waiting for 1 machine to join pool master');
  expect(report.pausedPools.map(({ name }) => name)).toEqual(['master']);
  expect(cluster.get('machineconfigpools', 'worker')?.spec).toMatchObject({ paused: false });
});

test('stops before the status if the config cannot be created', async () => {
  const cluster = await startStuckCluster();
  cluster.faults.intercept(({ method, query }) => {
    if (method === 'PATCH' && !query.has('dryRun') && cluster.get('machineconfigs', MASTER.name) === undefined) {
      const metadata = { name: MASTER.name, finalizers: ['a/b'], deletionTimestamp: '2026-11-20T11:59:00Z' };
      cluster.create('machineconfigs', { metadata, spec: {} });
    }
    return 'pass';
  });
  const report = await runRestore(cluster, { controlPlaneReplicas: 2, configs: [MASTER.config] });
  expect(report.problem).toBe(`timed out waiting until the finalizers of ${MASTER.name} are removed`);
  expect(cluster.get('machineconfigpools', 'master')?.status).toHaveProperty('configuration', {});
});
