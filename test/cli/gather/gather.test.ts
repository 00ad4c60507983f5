import type { ServerResponse } from 'node:http';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Fault } from '../../support/faults.ts';
import { NEW, startHealthyCluster } from '../inspected-cluster.ts';
import { runProgram, usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

test('writes only into its directory, and leaves out the logs of pods with names that no object can have', async () => {
  const { run, cluster } = await startHealthyCluster();
  const names = ['../../../../outside', 'a/b', 'guard'];
  const pods = names.map((name) => ({
    metadata: { name },
    spec: { containers: names.map((container) => ({ name: container })) },
  }));
  cluster.faults.intercept(({ path: requested }) => {
    if (requested.endsWith('/log')) return { status: 200, body: 'line' };
    return requested.endsWith('/pods') ? { status: 200, body: { items: pods } } : 'pass';
  });
  const parent = createTemporaryDirectory();
  await run('gather', '--out', path.join(parent, 'out'));
  expect(readdirSync(parent)).toEqual(['out']);
  const logs = readdirSync(parent, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.log'));
  expect(logs).toEqual(['out/namespaces/machineconfig-guard/pods/guard/guard/guard/logs/current.log']);
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

test('sends many requests at once, gathers the rest although they fail, and lists the failures', async () => {
  const { run, cluster, kubeconfig } = await startHealthyCluster();
  const waiting = new Set<ServerResponse>();
  const fail: Fault = (response) => {
    waiting.add(response);
    // One after another, the first one would get no answer before its timeout. A GET without an answer is sent twice.
    if (waiting.size >= 4) for (const each of waiting) each.destroy();
  };
  cluster.faults.intercept(({ path: requested }) => (/\/namespaces\/.*\/(?!pods)/.test(requested) ? fail : 'pass'));

  const { exitCode, stdout, stderr } = await run('gather', '--out', 'DIRECTORY');

  expect(exitCode).toBe(1);
  const directory = path.join(path.dirname(kubeconfig), 'out');
  const read = (file: string) => readFileSync(path.join(directory, file), 'utf8');
  expect(read('version')).toBe(`machineconfig-guard/gather\n${packageJson.version}\n`);
  expect(JSON.parse(read('check.json'))).toMatchObject({ ok: true, pools: [{ specConfig: NEW }] });
  expect(read('failures.txt')).toBe(stderr);
  expect(stderr.match(/^namespaces\//gm)).toHaveLength(7);
  expect(stderr).not.toContain('timed out');
  // The cluster in memory does not serve them, like Kubernetes before 1.30.
  expect(stderr).not.toContain('policies');
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  expect(stdout).toBe(`wrote ${files.filter((file) => file.isFile()).length} files to ${directory}\n`);
});

test('ends a log that never ends', async () => {
  const { run, cluster, kubeconfig } = await startHealthyCluster();
  const pod = { metadata: { name: 'guard-1' }, spec: { containers: [{ name: 'guard' }] } };
  const lines = Buffer.alloc(1024 * 1024, 'a');
  let megabytes = 0;
  const sendEndlessly: Fault = (response) => {
    const send = (): void => {
      megabytes += 1;
      if (!response.destroyed) response.write(lines, send);
    };
    send();
  };
  cluster.faults.intercept(({ path: requested }) => {
    if (requested.endsWith('/log')) return sendEndlessly;
    return requested.endsWith('/pods') ? { status: 200, body: { items: [pod] } } : 'pass';
  });
  const { exitCode, stderr } = await run('gather', '--out', 'DIRECTORY');
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/current\.log: .*the response is too large\n/)]);
  expect(megabytes).toBeLessThan(64);
  const request = cluster.faults.requests.find(({ path: requested }) => requested.endsWith('/log'));
  expect(Number(request?.query.get('limitBytes'))).toBeLessThan(16 * 1024 * 1024);
  expect(existsSync(path.join(path.dirname(kubeconfig), 'out/check.json'))).toBe(true);
});
