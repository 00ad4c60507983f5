import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CommandProcess, startCommand } from './command-process.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const CONFIG = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';

let sandbox: TestCluster;
let directory: string;
let kubeconfig: string;

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'mcg-dev-'));
  kubeconfig = path.join(directory, 'kubeconfig');
  sandbox = await startTestCluster();
  writeFileSync(kubeconfig, sandbox.kubeconfig);
  sandbox.create('machineconfigs', { metadata: { name: CONFIG } });
  const annotations = { 'machineconfiguration.openshift.io/desiredConfig': CONFIG };
  sandbox.create('nodes', { metadata: { name: 'worker-0', annotations } });
});

afterEach(async () => {
  await sandbox.stop();
  await rm(directory, { recursive: true });
});

const dev = (...args: string[]): CommandProcess => startCommand(['dev', '--kubeconfig', kubeconfig, ...args]);

const registrations = (): number => sandbox.list('validatingwebhookconfigurations').length;

test('a session: registers with failurePolicy Ignore, denies, prints one line a decision, and is gone after Ctrl-C', async () => {
  const run = dev();
  await expect.poll(run.output, { timeout: 40_000 }).toContain('Ctrl-C ends it');
  expect(sandbox.list('validatingwebhookconfigurations')[0]).toMatchObject({
    metadata: { name: expect.stringMatching(/^machineconfig-guard-dev-[0-9a-f]{10}$/) as unknown },
    webhooks: [{ failurePolicy: 'Ignore', timeoutSeconds: 5 }],
  });
  expect((await sandbox.delete('machineconfigs', CONFIG, { as: 'kube:admin' })).status).toBe(403);
  await expect
    .poll(run.output)
    .toMatch(
      new RegExp(
        `^\\d\\d:\\d\\d:\\d\\d denied {5}MCG_IN_USE: ${CONFIG} is in use by node worker-0 .*\\[kube:admin, [\\d.]+ ms\\]$`,
        'm',
      ),
    );
  run.child.kill('SIGINT');
  expect(await run.ended).toBe(0);
  expect(run.output()).toContain('the cluster is as it was');
  expect(registrations()).toBe(0);
  expect((await sandbox.delete('machineconfigs', CONFIG)).status).toBe(200);
});

test('what a crash left behind is removed at the next start', async () => {
  const crashed = dev();
  await expect.poll(crashed.output, { timeout: 40_000 }).toContain('Ctrl-C ends it');
  crashed.child.kill('SIGKILL');
  await crashed.ended;
  expect(registrations()).toBe(1);

  const run = dev();
  await expect.poll(run.output, { timeout: 40_000 }).toContain('Ctrl-C ends it');
  expect(run.output()).toMatch(/removed machineconfig-guard-dev-\w+, which an earlier run had left behind/);
  expect(registrations()).toBe(1);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(registrations()).toBe(0);
});

test('a cluster that is not there, or permits nothing: one sentence, exit code 3, nothing registered', async () => {
  sandbox.faults.intercept(({ method }) => (method === 'DELETE' ? { status: 403 } : 'pass'));
  const forbidden = dev();
  expect(await forbidden.ended).toBe(3);
  expect(forbidden.output()).toMatch(
    /^machineconfig-guard: cannot remove an earlier webhook registration at 127\.0\.0\.1:\d+: the API server answered 403\b.*\n$/,
  );
  expect(registrations()).toBe(0);

  await sandbox.faults.goDown();
  const away = dev();
  expect(await away.ended).toBe(3);
  expect(away.output()).toMatch(/^machineconfig-guard: cannot .* cannot be reached: ECONNREFUSED\.\n$/);
});

test('the webhook that cannot be removed at the end is named, with the command that removes it', async () => {
  const run = dev();
  await expect.poll(run.output, { timeout: 40_000 }).toContain('Ctrl-C ends it');
  await sandbox.faults.goDown();
  run.child.kill('SIGINT');
  expect(await run.ended).toBe(3);
  expect(run.output()).toMatch(
    /remove it with: oc delete validatingwebhookconfiguration machineconfig-guard-dev-\w+\n/,
  );
});
