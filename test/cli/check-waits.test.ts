import { expect, test, vi } from 'vitest';
import type { CheckReport } from '../../src/inspect/check-report.ts';
import { annotate, createConfig, createNode, GONE, healthyCluster, NEW, type Running } from './inspected-cluster.ts';

/** Waits until the command has said that. */
async function said(running: Running, words: string): Promise<void> {
  await vi.waitFor(
    () => {
      expect(running.stderr()).toContain(words);
    },
    { timeout: 15_000, interval: 50 },
  );
}

test('until the cluster has healed: a line a change on stderr, the report on stdout, 0', async () => {
  const { sandbox, start } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  sandbox.patch('machineconfigpools', 'worker', { spec: { configuration: { name: GONE } } });

  const check = start('check', '--wait', '--output', 'json');
  await said(check, 'node worker-1: has not reported a configuration yet');
  await said(check, `pool worker: spec ${GONE} does not exist`);
  annotate(sandbox, 'worker-1', { currentConfig: NEW, desiredConfig: GONE });
  await said(check, `node worker-1: desiredConfig ${GONE} does not exist`);
  createConfig(sandbox, GONE);

  const { exitCode, stdout, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  const report = JSON.parse(stdout) as CheckReport;
  expect(report).toMatchObject({ ok: true, canHeal: false, problems: [] });
  expect(report.waitedSeconds).toBeGreaterThan(0);
  // Elapsed time first; each change once.
  const lines = stderr.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^ {2,}\d+s {2}\S/);
  expect(lines.filter((line) => line.includes('has not reported'))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/(?:node worker-1|pool worker): fine$/);
});

test('not for what waiting does not heal: says so at once, with the repair, and ends with 1', async () => {
  const { sandbox, start } = await healthyCluster();
  annotate(sandbox, 'worker-0', { desiredConfig: NEW.replace('rendered', 'render') });
  const { exitCode, stdout } = await start('check', '--wait', '--timeout', '10m').outcome;
  expect(exitCode).toBe(1);
  const words = stdout.replaceAll(/[\s\\]+/g, ' ');
  expect(words).toContain(`Nearest existing name: ${NEW}.`);
  expect(words).toContain(
    `oc annotate node worker-0 --overwrite machineconfiguration.openshift.io/desiredConfig=${NEW}`,
  );
  expect(words).toContain('Waiting does not heal this.');
});

test('what becomes hopeless ends the wait', async () => {
  const { sandbox, start } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '10m', '--output', 'json');
  await said(check, 'has not reported');
  annotate(sandbox, 'worker-1', { currentConfig: GONE, desiredConfig: GONE });
  const { exitCode, stdout } = await check.outcome;
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, canHeal: false });
});

test('the timeout ends it with 1, and the last line says how long it was', async () => {
  const { sandbox, start } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  const { exitCode, stdout } = await start('check', '--wait', '--timeout', '1s').outcome;
  expect(exitCode).toBe(1);
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^Not fine: 1 of 2 nodes\. Still so after \ds\.$/);
});

test('an API server that goes away in the middle is waited for', async () => {
  const { sandbox, start, address } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  const check = start('check', '--wait');
  await said(check, 'has not reported');
  await sandbox.faults.goDown();
  await said(check, `${address} cannot be reached: ECONNREFUSED. Trying again.`);
  annotate(sandbox, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
  await sandbox.faults.comeUp();
  const { exitCode, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('the API server answers again');
});

test('one that is still away when the time is over: 3', async () => {
  const { sandbox, start, address } = await healthyCluster();
  createNode(sandbox, 'worker-1', {});
  const check = start('check', '--wait', '--timeout', '6s');
  await said(check, 'has not reported');
  await sandbox.faults.goDown();
  const { exitCode, stdout, stderr } = await check.outcome;
  expect([exitCode, stdout]).toEqual([3, '']);
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^machineconfig-guard: cannot list \S+: \S+ cannot be reached/);
  expect(stderr).toContain(address);
});

test('rights that are refused from the start are not waited for', async () => {
  const { sandbox, start } = await healthyCluster();
  sandbox.faults.intercept(({ path }) => (path.endsWith('/machineconfigs') ? { status: 403 } : 'pass'));
  const { exitCode, stderr } = await start('check', '--wait').outcome;
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^machineconfig-guard: the API server at \S+ does not permit you to list machineconfigs/);
});

test('kinds that are not served yet are: an install is on its way', async () => {
  const { sandbox, start } = await healthyCluster();
  sandbox.serve('machineconfigpools', []);
  const check = start('check', '--wait');
  await said(check, 'does not serve machineconfigpools.machineconfiguration.openshift.io');
  sandbox.serve('machineconfigpools', ['v1']);
  expect((await check.outcome).exitCode).toBe(0);
});

test('nodes that are not there yet are waited for', async () => {
  const { sandbox, start } = await healthyCluster();
  const check = start('check', '--wait', '--min-nodes', '2');
  await said(check, 'selection: only 1 node is in the cluster, 2 are needed');
  createNode(sandbox, 'worker-1', { currentConfig: NEW, desiredConfig: NEW });
  const { exitCode, stderr } = await check.outcome;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('selection: fine');
});
