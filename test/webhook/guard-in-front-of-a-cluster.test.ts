import { onTestFinished, expect, test } from 'vitest';
import { KubeApi } from '../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../src/kube/connection.ts';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import type { Decision } from '../../src/webhook/decision.ts';
import { type Guard, startGuard } from '../../src/guard/guard.ts';
import { createFixedCertificate } from '../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../support/log.ts';
import { testTls } from '../support/tls.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const USED = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const FREE = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';

interface Guarded {
  readonly sandbox: TestCluster;
  readonly guard: Guard;
  readonly decisions: Decision[];
  readyz: () => Promise<string>;
}

async function guarded({ down = false, shutdownDelayMs = 0 } = {}): Promise<Guarded> {
  const sandbox = await startTestCluster();
  onTestFinished(async () => {
    await sandbox.stop();
  });
  for (const name of [USED, FREE]) sandbox.create('machineconfigs', { metadata: { name } });
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': USED };
  sandbox.create('nodes', { metadata: { name: 'worker-0', annotations } });
  if (down) sandbox.faults.intercept(({ path }) => (path.startsWith('/api/v1/nodes') ? 'reset' : 'pass'));

  const tls = await testTls();
  const decisions: Decision[] = [];
  const guard = await startGuard({
    api: new KubeApi(connectionFromKubeconfig(sandbox.kubeconfig)),
    certificate: createFixedCertificate(await tls.leaf()),
    log: memoryLog().log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs,
    onDecision: (decision) => void decisions.push(decision),
  });
  onTestFinished(async () => {
    await guard.stop();
  });
  sandbox.create(
    'validatingwebhookconfigurations',
    buildWebhookConfiguration({
      clientConfig: {
        url: `https://127.0.0.1:${guard.securePort}/validate`,
        caBundle: Buffer.from(tls.ca).toString('base64'),
      },
      failurePolicy: 'Fail',
    }),
  );
  return {
    sandbox,
    guard,
    decisions,
    readyz: async () => {
      const response = await fetch(`http://127.0.0.1:${guard.healthPort}/readyz`);
      return `${response.status} ${(await response.text()).trim()}`;
    },
  };
}

test('a config in use stays, a free one goes; the audit log and an Event say so', async () => {
  const { sandbox, guard, decisions, readyz } = await guarded();
  await guard.whenReady(AbortSignal.timeout(5_000));
  expect(await readyz()).toBe('200 ok');

  const denied = await sandbox.delete('machineconfigs', USED);
  expect(denied.status).toBe(403);
  expect(JSON.stringify(denied.body)).toContain(`MCG_IN_USE: ${USED} is in use by node worker-0 (currentConfig).`);
  expect(sandbox.get('machineconfigs', USED)).toBeDefined();
  expect((await sandbox.delete('machineconfigs', FREE)).status).toBe(200);
  expect(sandbox.get('machineconfigs', FREE)).toBeUndefined();

  expect(decisions.map(({ name, path, verdict }) => [name, path, verdict.code])).toEqual([
    [USED, 'index', 'MCG_IN_USE'],
    [FREE, 'live', 'MCG_NOT_IN_USE'],
  ]);
  await expect.poll(() => sandbox.list('events').length).toBe(1);
  expect(sandbox.list('events')[0]).toMatchObject({ reason: 'DeletionDenied', regarding: { name: USED } });
});

test('a dry run gets the same answer and leaves no Event', async () => {
  const { sandbox, guard } = await guarded();
  await guard.whenReady(AbortSignal.timeout(5_000));
  expect((await sandbox.delete('machineconfigs', USED, { dryRun: true })).status).toBe(403);
  await guard.stop();
  expect(sandbox.list('events')).toEqual([]);
});

test('before the cluster was read once: not ready, and deletions are refused as not verified', async () => {
  const { sandbox, decisions, readyz } = await guarded({ down: true });
  await expect.poll(readyz).toBe('503 not read yet: nodes');
  const answer = await sandbox.delete('machineconfigs', FREE);
  expect(answer.status).toBe(503);
  expect(JSON.stringify(answer.body)).toContain('MCG_UNVERIFIED');
  expect(sandbox.get('machineconfigs', FREE)).toBeDefined();
  expect(decisions[0]?.ms).toBeLessThan(4_000);

  sandbox.faults.clear();
  await expect.poll(readyz, { timeout: 5_000 }).toBe('200 ok');
  expect((await sandbox.delete('machineconfigs', FREE)).status).toBe(200);
});

test('an API server that is lost later does not make the guard unready', async () => {
  const { sandbox, guard, readyz } = await guarded();
  await guard.whenReady(AbortSignal.timeout(5_000));
  sandbox.faults.intercept(({ path }) => (path.startsWith('/api') ? 'reset' : 'pass'));
  sandbox.faults.cutConnections();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await readyz()).toBe('200 ok');
});

test('stopping: unready at once, serving until the delay is over, then gone', async () => {
  const { sandbox, guard, readyz } = await guarded({ shutdownDelayMs: 400 });
  await guard.whenReady(AbortSignal.timeout(5_000));
  const stopped = guard.stop();
  expect(await readyz()).toBe('503 stopping');
  expect((await sandbox.delete('machineconfigs', USED)).status).toBe(403);
  await stopped;
  const refused = await sandbox.delete('machineconfigs', FREE);
  expect(refused.status).toBe(500);
  expect(JSON.stringify(refused.body)).toContain('failed calling webhook');
  expect(sandbox.get('machineconfigs', FREE)).toBeDefined();
});
