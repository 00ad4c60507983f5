import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createFixedCertificate } from '../../src/certificates/serving-certificate.ts';
import { startGuard } from '../../src/guard/guard.ts';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import type { AdmissionReviewResponse } from '../../src/webhook/admission-response.ts';
import type { Decision } from '../../src/webhook/decision.ts';
import { memoryLog } from '../support/log.ts';
import { nodeUpdateBody } from '../support/review.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { testTls } from '../support/tls.ts';

const USED = 'rendered-worker-a';
const UNUSED = 'rendered-worker-b';
const DESIRED_CONFIG = 'machineconfiguration.openshift.io/desiredConfig';

/** Starts a guard, and waits until it is ready unless the nodes are unreadable. */
async function startGuardedCluster({ areNodesUnreadable = false, shutdownDelayMs = 0 } = {}) {
  const cluster = await startTestCluster();
  for (const name of [USED, UNUSED]) cluster.create('machineconfigs', { metadata: { name } });
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': USED };
  cluster.create('nodes', { metadata: { name: 'worker-0', annotations } });
  if (areNodesUnreadable)
    cluster.faults.intercept(({ path }) => (path === '/api/v1/nodes' ? 'reset' : 'pass'));
  const tls = await testTls();
  const decisions: Decision[] = [];
  const { log, lines } = memoryLog();
  const guard = await startGuard({
    api: cluster.connect(),
    certificate: createFixedCertificate(await tls.leaf()),
    log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs,
    onDecision: (decision) => void decisions.push(decision),
  });
  onTestFinished(async () => await guard.stop());
  const url = `https://127.0.0.1:${guard.ports.securePort}/validate`;
  const caBundle = Buffer.from(tls.ca).toString('base64');
  const webhook = buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', webhook);
  if (!areNodesUnreadable) await guard.whenReady(AbortSignal.timeout(5_000));
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${guard.ports.healthPort}/readyz`);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  return { cluster, guard, decisions, lines, readyz, ca: tls.ca };
}

test('denies the deletion of a config in use with an Event, and allows that of an unused one', async () => {
  const { cluster, decisions, readyz } = await startGuardedCluster();
  expect(await readyz()).toBe('200 ok');
  const denied = await cluster.delete('machineconfigs', USED);
  expect(denied.status).toBe(403);
  expect(denied.body.message).toContain(`MCG_IN_USE: ${USED} is in use by node worker-0 (currentConfig).`);
  expect(cluster.get('machineconfigs', USED)).toBeDefined();
  expect((await cluster.delete('machineconfigs', UNUSED)).status).toBe(200);
  expect(cluster.get('machineconfigs', UNUSED)).toBeUndefined();
  expect(decisions.map(({ name, path, verdict }) => [name, path, verdict.code])).toEqual([
    [USED, 'index', 'MCG_IN_USE'],
    [UNUSED, 'live', 'MCG_NOT_IN_USE'],
  ]);
  await expect.poll(() => cluster.list('events').length).toBe(1);
  expect(cluster.list('events')[0]).toMatchObject({ reason: 'DeletionDenied', regarding: { name: USED } });
});

test('is unready and denies as unverified until it has read the cluster once', async () => {
  const { cluster, decisions, readyz } = await startGuardedCluster({ areNodesUnreadable: true });
  await expect.poll(readyz).toBe('503 not listed yet: nodes');
  const denied = await cluster.delete('machineconfigs', UNUSED);
  expect(denied.status).toBe(503);
  expect(denied.body.message).toContain('MCG_UNVERIFIED');
  // The timeout of the webhook.
  expect(decisions[0]?.ms).toBeLessThan(5_000);
  cluster.faults.clear();
  await expect.poll(readyz, { timeout: 5_000 }).toBe('200 ok');
  expect((await cluster.delete('machineconfigs', UNUSED)).status).toBe(200);
});

test('stays ready during a later outage of the API server', async () => {
  const { cluster, readyz } = await startGuardedCluster();
  cluster.faults.intercept(({ path }) => (path.startsWith('/api') ? 'reset' : 'pass'));
  cluster.faults.cutConnections();
  await sleep(300);
  expect(await readyz()).toBe('200 ok');
});

test('a stop makes it unready immediately and serves until the shutdown delay has passed', async () => {
  const { cluster, guard, readyz } = await startGuardedCluster({ shutdownDelayMs: 400 });
  const stopped = guard.stop();
  expect(await readyz()).toBe('503 stopping');
  expect((await cluster.delete('machineconfigs', USED)).status).toBe(403);
  await stopped;
  expect((await cluster.delete('machineconfigs', UNUSED)).body.message).toContain(
    'failed calling webhook',
  );
});

test('answers updates of nodes, and logs at most 100 of them at once and then 10 per second', async () => {
  const { cluster, guard, decisions, lines, ca } = await startGuardedCluster();
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 10 });
  onTestFinished(() => void agent.destroy());
  const post = async (config: string) => {
    const object = { metadata: { name: 'n', annotations: { [DESIRED_CONFIG]: config } } };
    const body = JSON.stringify(nodeUpdateBody({ object, oldObject: { metadata: { name: 'n' } } }));
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const url = `https://127.0.0.1:${guard.ports.securePort}/validate-references?timeout=3s`;
    const call = request(url, { method: 'POST', agent, headers }).end(body);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return ((await json(response)) as AdmissionReviewResponse).response.allowed;
  };
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: 300 }, async () => await post(USED)));
  expect(new Set(answers)).toEqual(new Set([true]));
  expect(await post('rendered-worker-c')).toBe(false);
  await expect.poll(() => decisions.length).toBe(301);
  const logged = lines.filter((line) => line['code'] === 'MCG_KNOWN_CONFIG').length;
  expect(logged).toBeGreaterThanOrEqual(100);
  expect(logged).toBeLessThanOrEqual(101 + (performance.now() - startedAt) / 100);
  expect(cluster.list('events')).toEqual([]);
});
