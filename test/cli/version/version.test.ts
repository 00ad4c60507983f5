import { expect, test } from 'vitest';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { runProgram } from '../run-program.ts';

const CLIENT = /^Client Version: \d+\.\d+\.\d+\S*\n$/;

test('version --client needs no cluster', async () => {
  const { exitCode, stdout } = await runProgram(['version', '--client']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(CLIENT);
});

test('without a cluster, prints the version of the program and exits with 3', async () => {
  const stdout = expect.stringMatching(CLIENT) as string;
  const outcome = { exitCode: 3, stdout, stderr: expect.stringContaining('does not exist') as string };
  expect(await runProgram(['version', '--kubeconfig', '/no/such/file'])).toEqual(outcome);
});

test.each([
  ['of the guard that leads', { version: '0.2.0' }, '0.2.0'],
  ['none without a guard', undefined, null],
])('prints the versions, %s, also as JSON', async (_case, status, guardVersion) => {
  const { run, cluster } = await startEmptyCluster();
  cluster.faults.intercept(({ path }) =>
    path === '/version' ? { status: 200, body: { gitVersion: 'v1.31.1' } } : 'pass',
  );
  if (status !== undefined) cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, status });
  expect((await run('version')).stdout).toMatch(
    new RegExp(`^Client Version: .*\nGuard Version: ${guardVersion ?? 'none'}\nKubernetes Version: v1\\.31\\.1\n$`),
  );
  expect(JSON.parse((await run('version', '-o', 'json')).stdout)).toEqual({
    clientVersion: expect.any(String) as string,
    kubernetesVersion: 'v1.31.1',
    guardVersion,
  });
});
