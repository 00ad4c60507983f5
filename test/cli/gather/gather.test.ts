import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Fault } from '../../support/faults.ts';
import { NEW, startHealthyCluster } from '../inspected-cluster.ts';
import { runProgram, usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

function read(directory: string, file: string): string {
  return readFileSync(path.join(directory, file), 'utf8');
}

test('gathers what the cluster has, and lists what it could not read', async () => {
  const { run, cluster } = await startHealthyCluster();
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Warn' } });
  cluster.create('namespaces', { metadata: { name: 'other' } });
  cluster.faults.intercept(({ path: requested }) => (requested.endsWith('/pods') ? { status: 403 } : 'pass'));
  const directory = path.join(createTemporaryDirectory(), 'new');

  const { exitCode, stdout, stderr } = await run('gather', '--out', directory, '-n', 'other');

  expect(exitCode).toBe(1);
  expect(read(directory, 'version')).toBe(`machineconfig-guard/gather\n${packageJson.version}\n`);
  const guard = 'cluster-scoped-resources/machineconfig-guard.io/machineconfigguards/cluster.yaml';
  expect(read(directory, guard)).toMatch(/^kind: MachineConfigGuard$[^]*^ {2}mode: Warn$/m);
  expect(JSON.parse(read(directory, 'check.json'))).toMatchObject({ ok: true, pools: [{ specConfig: NEW }] });
  expect(read(directory, 'failures.txt')).toBe(stderr);
  expect(stderr).toContain('namespaces/other/core/pods.yaml: cannot list pods: the API server answered 403');
  // The cluster in memory does not serve them, like Kubernetes before 1.30.
  expect(stderr).not.toContain('policies');
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  expect(stdout).toBe(`wrote ${files.filter((file) => file.isFile()).length} files to ${directory}\n`);
});

test('refuses a collection with names that no object can have, and writes only into its directory', async () => {
  const { run, cluster } = await startHealthyCluster();
  const toGuard = (name: string) => ({ metadata: { name }, spec: { about: 'machineconfigs' } });
  const body = {
    apiVersion: 'machineconfig-guard.io/v1alpha1',
    kind: 'MachineConfigGuardList',
    metadata: { resourceVersion: '1' },
    items: [toGuard('../../../../outside'), toGuard('a/b'), toGuard('cluster')],
  };
  cluster.faults.intercept(({ path: requested }) =>
    requested.endsWith('/machineconfigguards') ? { status: 200, body } : 'pass',
  );
  const parent = createTemporaryDirectory();
  const directory = path.join(parent, 'out');

  const { stderr } = await run('gather', '--out', directory);

  expect(readdirSync(parent)).toEqual(['out']);
  const guards = 'cluster-scoped-resources/machineconfig-guard.io/machineconfigguards';
  expect(existsSync(path.join(directory, guards))).toBe(false);
  expect(stderr).toContain(`${guards}: it contains an object with a name that no object can have\n`);
});

test('writes nothing into a directory that is not empty', async () => {
  const directory = createTemporaryDirectory();
  writeFileSync(path.join(directory, 'notes.txt'), 'mine');
  const { run } = await startHealthyCluster();
  expect(await run('gather', '--out', directory)).toEqual(usageError(' is not empty; choose another directory'));
  expect(readdirSync(directory)).toEqual(['notes.txt']);
});

test.each([
  ['', ['--since', '5'], 'Must be a duration'],
  ['', ['--since', '0s'], 'Must be a duration'],
  ['', ['--since-time', 'yesterday'], 'Must be a time'],
  ['', ['--since', '1h', '--since-time', '2026-11-23T07:00:00Z'], 'cannot be used with'],
  ['soon', [], 'MUST_GATHER_SINCE'],
])('with MUST_GATHER_SINCE=%s and %j, exits with 2', async (since, flags, problem) => {
  vi.stubEnv('MUST_GATHER_SINCE', since);
  expect(await runProgram(['gather', '--out', 'x', ...flags])).toEqual(usageError(problem));
});

test('exits with 3 and gathers nothing if the API server rejects the credentials', async () => {
  const { run, cluster, kubeconfig } = await startHealthyCluster();
  cluster.faults.intercept(() => ({ status: 401 }));
  const stderr = expect.stringMatching(/ rejects the credentials [^\n]+\n$/) as string;
  expect(await run('gather', '--out', 'DIRECTORY')).toEqual({ exitCode: 3, stdout: '', stderr });
  expect(readdirSync(path.dirname(kubeconfig))).toEqual(['kubeconfig', 'out']);
});

test('gathers a part while another one is not answered', async () => {
  const { run, cluster } = await startHealthyCluster();
  let openCount = 0;
  let mostOpen = 0;
  const hang: Fault = (response) => {
    openCount += 1;
    mostOpen = Math.max(mostOpen, openCount);
    response.once('close', () => (openCount -= 1));
  };
  cluster.faults.intercept(({ path: requested }) => (requested.includes('/namespaces/') ? hang : 'pass'));
  const directory = createTemporaryDirectory();

  const { exitCode } = await run('gather', '--out', directory, '--request-timeout', '2s');

  // A GET without an answer is sent twice, so one after another, at most two would be open.
  expect(mostOpen).toBeGreaterThanOrEqual(8);
  expect(exitCode).toBe(1);
  expect(read(directory, 'failures.txt').match(/^namespaces\/.*timed out$/gm)).toHaveLength(8);
  expect(JSON.parse(read(directory, 'check.json'))).toMatchObject({ ok: true });
});
