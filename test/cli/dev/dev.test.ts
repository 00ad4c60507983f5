import { beforeEach, expect, test } from 'vitest';
import { GUARDS_PATH, WEBHOOK_CONFIGURATIONS_PATH } from '../../../src/kube/api-paths.ts';
import type { CommandProcess } from '../command-process.ts';
import { type InspectedCluster, NEW, startHealthyCluster } from '../inspected-cluster.ts';

const STARTED = 'press Ctrl-C to stop';
const STARTUP = { timeout: 40_000 };
let inspected: InspectedCluster;

beforeEach(async () => {
  inspected = await startHealthyCluster();
});

async function startDev(): Promise<CommandProcess> {
  const dev = inspected.start('dev');
  await expect.poll(dev.stdout, STARTUP).toContain(STARTED);
  return dev;
}

function registrations(): readonly unknown[] {
  return inspected.cluster.list('validatingwebhookconfigurations');
}

test('registers the webhook, prints decisions, and removes the webhook on SIGINT', async () => {
  const { cluster } = inspected;
  const dev = await startDev();
  expect(registrations()).toMatchObject([
    {
      metadata: { name: expect.stringMatching(/^machineconfig-guard-dev-[0-9a-f]{10}$/) as unknown },
      webhooks: [{ failurePolicy: 'Ignore', timeoutSeconds: 5 }],
    },
  ]);
  expect((await cluster.delete('machineconfigs', NEW, { as: 'kube:admin' })).status).toBe(403);
  const denial = `denied {5}MCG_IN_USE: ${NEW} is in use by node worker-0 .*`;
  const line = new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${denial}\\[kube:admin, [\\d.]+ ms\\]$`, 'm');
  await expect.poll(dev.stdout).toMatch(line);

  dev.child.kill('SIGINT');
  const { exitCode, stdout } = await dev.outcome;
  expect(exitCode).toBe(130);
  expect(stdout).toMatch(/ removed machineconfig-guard-dev-\w+\n$/);
  expect(registrations()).toEqual([]);
  expect((await cluster.delete('machineconfigs', NEW)).status).toBe(200);
});

test('follows the MachineConfigGuard, creates none and writes no status', async () => {
  const { cluster } = inspected;
  const dev = await startDev();
  const post = { method: 'POST', path: GUARDS_PATH };
  expect(cluster.faults.requests).not.toContainEqual(expect.objectContaining(post));
  cluster.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    spec: { mode: 'Warn', holdSuperseded: '0s' },
  });
  await expect
    .poll(dev.stdout)
    .toMatch(/ mode is Enforce, holdSuperseded is 2h\n[^]* mode is Warn, holdSuperseded is 0s\n/);
  expect((await cluster.delete('machineconfigs', NEW)).status).toBe(200);
  await expect.poll(dev.stdout).toContain('would-deny MCG_WOULD_DENY');
  expect(cluster.get('machineconfigguards', 'cluster')).not.toHaveProperty('status');
});

test('removes the webhook that a killed session left behind', async () => {
  const killed = await startDev();
  killed.child.kill('SIGKILL');
  await killed.outcome;
  expect(registrations()).toHaveLength(1);

  const { cluster, start } = inspected;
  const removeFault = cluster.faults.intercept(({ method }) => (method === 'DELETE' ? { status: 403 } : 'pass'));
  const denied = await start('dev').outcome;
  expect(denied.exitCode).toBe(3);
  expect(denied.stderr).toMatch(/ denies you "delete" on validatingwebhookconfigurations/);
  removeFault();

  const dev = await startDev();
  expect(dev.stdout()).toMatch(/removed machineconfig-guard-dev-\w+\n[^]* press Ctrl-C/);
  expect(registrations()).toHaveLength(1);
  dev.child.kill('SIGTERM');
  expect((await dev.outcome).exitCode).toBe(0);
  expect(registrations()).toEqual([]);
});

test('registers nothing if the port is taken, or the cluster denies it', async () => {
  const { cluster, start, address } = inspected;
  const taken = await start('dev', '--url', `https://${address}`).outcome;
  expect(taken).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(`for ${address}: EADDRINUSE\n`) as string,
  });
  cluster.faults.intercept(({ path, method }) =>
    method === 'POST' && path === WEBHOOK_CONFIGURATIONS_PATH ? { status: 403 } : 'pass',
  );
  const { exitCode, stderr } = await start('dev').outcome;
  expect(exitCode).toBe(3);
  expect(stderr).toContain(`${address} denies you "create" on validatingwebhookconfigurations.`);
  expect(registrations()).toEqual([]);
});

test('prints the command if it cannot remove the webhook', async () => {
  const dev = await startDev();
  await inspected.cluster.stop();
  dev.child.kill('SIGINT');
  const { exitCode, stderr } = await dev.outcome;
  expect(exitCode).toBe(130);
  expect(stderr).toMatch(
    /remove the webhook with: oc --kubeconfig \S+ delete validatingwebhookconfiguration machineconfig-guard-dev-\w+\n/,
  );
});
