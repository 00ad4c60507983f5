import { expect, test } from 'vitest';
import { startEmptyCluster } from '../inspected-cluster.ts';
import { runProgram } from '../run-program.ts';

const CLIENT = /^Client Version: \d+\.\d+\.\d+\S*\n$/;

test('without a cluster, prints the version of the program, and exits with 3 unless --client is given', async () => {
  const stdout = expect.stringMatching(CLIENT) as string;
  const args = ['version', '--kubeconfig', '/no/such/file'];
  expect(await runProgram([...args, '--client'])).toEqual({ exitCode: 0, stdout, stderr: '' });
  const stderr = expect.stringContaining('does not exist') as string;
  expect(await runProgram(args)).toEqual({ exitCode: 3, stdout, stderr });
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
  const { stdout } = await run('version', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({ kubernetesVersion: 'v1.31.1', guardVersion });
});
