import { expect, onTestFinished, test, vi } from 'vitest';
import { createFixedCertificate } from '../../src/certificates/serving-certificate.ts';
import { startGuard } from '../../src/guard/guard.ts';
import { buildWebhookConfiguration } from '../../src/install/registration.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { testTls } from '../support/tls.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

const USED = 'rendered-worker-a';
const UNUSED = 'rendered-worker-b';

/** Starts a guard, and waits until it is ready. If nodes are unreadable, it never is. */
async function startGuardedCluster({ isUnreadable = false, shutdownDelayMs = 0 } = {}) {
  const cluster = await startTestCluster();
  for (const name of [USED, UNUSED]) cluster.create('machineconfigs', { metadata: { name } });
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': USED };
  cluster.create('nodes', { metadata: { name: 'worker-0', annotations } });
  if (isUnreadable) cluster.faults.intercept(({ path }) => (path === '/api/v1/nodes' ? 'reset' : 'pass'));
  const tls = await testTls();
  const guard = await startGuard({
    api: cluster.connect(),
    certificate: createFixedCertificate(await tls.leaf()),
    log: memoryLog().log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs,
  });
  onTestFinished(async () => await guard.stop());
  const url = `https://127.0.0.1:${guard.ports.securePort}/validate`;
  const caBundle = Buffer.from(tls.ca).toString('base64');
  const webhook = buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', webhook);
  if (!isUnreadable) await guard.whenReady(new AbortController().signal);
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${guard.ports.healthPort}/readyz`);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  return { cluster, guard, readyz };
}

test('is unready and denies as unverified until its first complete read, and stays ready in an outage', async () => {
  const { cluster, readyz } = await startGuardedCluster({ isUnreadable: true });
  await expect.poll(readyz).toBe('503 not listed yet: nodes');
  const denied = await cluster.delete('machineconfigs', UNUSED);
  expect(denied.status).toBe(503);
  expect(denied.body.message).toContain('MCG_UNVERIFIED');
  cluster.faults.clear();
  await expect.poll(readyz).toBe('200 ok');
  expect((await cluster.delete('machineconfigs', UNUSED)).status).toBe(200);

  let resetCount = 0;
  cluster.faults.intercept(({ path }) => {
    if (!path.startsWith('/api')) return 'pass';
    resetCount += 1;
    return 'reset';
  });
  cluster.faults.cutConnections();
  await expect.poll(() => resetCount).toBeGreaterThan(3);
  expect(await readyz()).toBe('200 ok');
});

test('a stop makes it unready immediately and serves until the shutdown delay has passed', async () => {
  const { cluster, guard, readyz } = await startGuardedCluster({ shutdownDelayMs: 2_000 });
  fakeUntilEnd('setTimeout', 'clearTimeout');
  const stopped = guard.stop();
  expect(await readyz()).toBe('503 stopping');
  expect((await cluster.delete('machineconfigs', USED)).status).toBe(403);
  vi.advanceTimersByTime(2_000);
  vi.useRealTimers();
  await stopped;
  expect((await cluster.delete('machineconfigs', UNUSED)).body.message).toContain('failed calling webhook');
});
