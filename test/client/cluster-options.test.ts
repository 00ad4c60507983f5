import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { NODES_PATH } from '../../src/kube/api-paths.ts';
import { CLUSTER_COMMAND_LINES, NEW, startHealthyCluster } from '../cli/inspected-cluster.ts';
import { runProgram } from '../cli/run-program.ts';
import { skipWaits } from '../cli/steps/stopping-api.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';

const USED = `${NEW} is in use by 1 node and 1 pool.`;

function writeKubeconfig(text: string): string {
  const file = path.join(createTemporaryDirectory(), 'kubeconfig');
  writeFileSync(file, text);
  return file;
}

test('accepts a cluster flag before and after the command, and sends the impersonated user', async () => {
  const { cluster, kubeconfig } = await startHealthyCluster();
  for (const args of [
    ['--kubeconfig', kubeconfig, 'who-uses', NEW],
    ['who-uses', NEW, `--kubeconfig=${kubeconfig}`],
    ['--kubeconfig', '/x', '--as', 'alice', 'who-uses', NEW, '--kubeconfig', kubeconfig],
  ])
    expect(await runProgram(args)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(USED), stderr: '' });
  const authorization = expect.stringMatching(/^Bearer /) as string;
  expect(cluster.faults.requests.at(-1)?.headers).toMatchObject({
    'impersonate-user': 'alice',
    // The audit log has it.
    'user-agent': 'machineconfig-guard/who-uses',
    authorization,
  });
});

test('accepts a flag of a subcommand before and after it', async () => {
  const directory = createTemporaryDirectory();
  writeFileSync(path.join(directory, 'a.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: { name: a }\n');
  const outcome = await runProgram(['check', 'manifests', directory, '-o', 'json']);
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  for (const args of [
    ['check', '-o', 'json', 'manifests', directory],
    ['check', '-o', 'yaml', 'manifests', directory, '-o', 'json'],
  ])
    expect(await runProgram(args)).toEqual(outcome);
});

test.each([
  ['200ms', 200],
  ['1', 1_000],
])('gives up on a request after --request-timeout %s', async (timeout, ms) => {
  const { run, cluster, address } = await startHealthyCluster();
  cluster.faults.intercept(({ path: requestPath }) => (requestPath === NODES_PATH ? 'hang' : 'pass'));
  const setTimer = vi.spyOn(globalThis, 'setTimeout');
  expect(await run('who-uses', '--request-timeout', timeout)).toEqual({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringContaining(`the API server at ${address} did not answer in time; check the`) as string,
  });
  expect(setTimer).toHaveBeenCalledWith(expect.any(Function), ms);
});

test.each([
  ['status', 10_000],
  ['who-uses', 30_000],
  ['check --min-nodes 1 --wait', 30_000],
  // All requests of a report together.
  ['who-uses --request-timeout 999h', 120_000],
  // It keeps the default.
  ['status --request-timeout 0', 10_000],
  ['who-uses --request-timeout 0', 30_000],
])('%s gives up on an API server that does not answer after %d ms', async (command, ms) => {
  const { run, cluster } = await startHealthyCluster();
  cluster.faults.intercept(() => 'hang');
  skipWaits();
  expect((await run(...command.split(' '))).exitCode).toBe(3);
  expect(performance.now()).toBe(ms);
});

test.each(CLUSTER_COMMAND_LINES)('%s says after 7 s that it waits for the API server', async (...args) => {
  const { run, cluster, address } = await startHealthyCluster();
  cluster.faults.intercept(() => 'hang');
  skipWaits();
  const { exitCode, stderr } = await run(...args);
  expect(exitCode).toBe(3);
  expect(stderr.match(/^ +7s {2}waiting for .*$/gm)).toEqual([`     7s  waiting for the API server at ${address}`]);
});

test('says after 7 s that it waits for the command of the kubeconfig', async () => {
  const { kubeconfig } = await startHealthyCluster();
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sleep', args: ['1000'] };
  const stored = JSON.parse(readFileSync(kubeconfig, 'utf8')) as object;
  const file = writeKubeconfig(JSON.stringify({ ...stored, users: [{ name: 'in-memory', user: { exec } }] }));
  skipWaits();
  expect(await runProgram(['check', '--kubeconfig', file])).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(/^ +7s {2}waiting for the exec command of the kubeconfig$/m) as string,
  });
});

test('ends with the first error, although another request hangs', async () => {
  const { run, cluster } = await startHealthyCluster();
  const held: ServerResponse[] = [];
  const hold = (response: ServerResponse) => {
    held.push(response);
    if (held.length < 2) return;
    held
      .find(({ req }) => req.url?.includes('/deployments/') === false)
      ?.writeHead(400)
      .end();
  };
  const isHeld = (requestPath: string) => /\/deployments\/|\/validatingwebhookconfigurations$/.test(requestPath);
  cluster.faults.intercept(({ path: requestPath }) => (isHeld(requestPath) ? hold : 'pass'));
  expect((await run('verify')).exitCode).toBe(3);
  // An open connection would keep the process until the timeout of the request.
  await expect.poll(() => held.map(({ destroyed }) => destroyed), { timeout: 10_000 }).toEqual([true, true]);
});

test('explains a certificate of an unknown authority, exits with 3 and does not retry', async () => {
  const { kubeconfig, address } = await startHealthyCluster();
  const { certificatePem } = await createAuthority({ days: 1, now: new Date() });
  const authority = `"certificate-authority-data":"${Buffer.from(certificatePem).toString('base64')}"`;
  const text = readFileSync(kubeconfig, 'utf8').replace(/"certificate-authority-data":"[^"]*"/, authority);
  const reason =
    'certificate signed by an unknown authority; check certificate-authority in the kubeconfig, or log in again';
  const stderr = `machineconfig-guard: cannot connect to the API server at ${address}: ${reason}\n`;
  const outcome = await runProgram(['check', '--wait', '--kubeconfig', writeKubeconfig(text)]);
  expect(outcome).toEqual({ exitCode: 3, stdout: '', stderr });
});
