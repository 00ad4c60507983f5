import { expect, test } from 'vitest';
import type { CheckReport } from '../../../src/cli/check/check-cluster.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/kube/api-paths.ts';
import { annotate, createNode, GONE, NEW, startHealthyCluster } from '../inspected-cluster.ts';

test('waits for a consistent cluster, and prints one line per change on stderr', async () => {
  const { cluster, run } = await startHealthyCluster();
  createNode(cluster, 'worker-1', {});
  // Early in an install the CRDs are missing.
  cluster.serve('machineconfigpools', []);
  let lists = 0;
  cluster.faults.intercept(({ path }) => {
    if (path.endsWith('/machineconfigpools')) lists += 1;
    if (lists === 2) cluster.serve('machineconfigpools', ['v1']);
    if (lists === 3) annotate(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
    return 'pass';
  });
  const { exitCode, stdout, stderr } = await run('check', '--wait', '--output', 'json');
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as CheckReport;
  expect(report).toMatchObject({ ok: true, recoverable: false, problems: [] });
  expect(report.waitedSeconds).toBeGreaterThan(0);
  expect(stderr).toMatch(
    /does not serve machineconfigpools.*\n.*problems with 1 of 2 nodes: node worker-1: has not reported.*\n$/,
  );
  for (const line of stderr.trimEnd().split('\n')) expect(line).toMatch(/^ {2,}\d+s {2}\S/);
});

test('exits with 1 immediately if a problem is unrecoverable', async () => {
  const { cluster, run } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: GONE });
  const stdout = expect.stringMatching(
    /oc --kubeconfig \S+ annotate node worker-0 [^]* Waiting does not help\.\n$/,
  ) as string;
  expect(await run('check', '--wait', '--timeout', '10m')).toMatchObject({ exitCode: 1, stdout });
});

test('exits with 3 immediately if a permission is missing', async () => {
  const { cluster, run } = await startHealthyCluster();
  cluster.faults.intercept(({ path }) => (path === MACHINE_CONFIGS_PATH ? { status: 403 } : 'pass'));
  expect((await run('check', '--wait')).exitCode).toBe(3);
});
