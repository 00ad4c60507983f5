import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { register, type StubAnswer, stubWebhook } from './stub-webhook.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const PREFIX = 'Internal error occurred: failed calling webhook "guard.example.io": ';

async function messageOf(sandbox: TestCluster): Promise<string> {
  const { status, body } = await sandbox.delete('machineconfigs', 'rendered-a-1');
  expect([status, body.reason]).toEqual([500, 'InternalError']);
  expect(sandbox.get('machineconfigs', 'rendered-a-1')).toBeDefined();
  expect(body.message).toContain(PREFIX);
  return (body.message ?? '').slice(PREFIX.length);
}

async function failing(answer: StubAnswer): Promise<string> {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => answer);
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  return await messageOf(sandbox);
}

function body(change: Record<string, unknown>): StubAnswer {
  return { body: JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', ...change }) };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('nobody listens', async () => {
  const sandbox = await startTestCluster();
  const port = await freePort();
  register(sandbox, { url: `https://127.0.0.1:${port}/validate` });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect(await messageOf(sandbox)).toBe(
    `failed to call webhook: Post "https://127.0.0.1:${port}/validate?timeout=1s": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
});

test('its certificate is not trusted', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: true } }));
  // Without a caBundle the system's authorities are trusted, and the stub's is none of them.
  register(sandbox, { url: webhook.at.url });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect(await messageOf(sandbox)).toContain('x509: certificate signed by unknown authority');
  expect(webhook.calls).toEqual([]);
});

test('its caBundle is no certificate', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: true } }));
  register(sandbox, { ...webhook.at, caBundle: Buffer.from('to be injected').toString('base64') });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect(await messageOf(sandbox)).toBe(
    'could not get REST client: unable to load root certificates: unable to parse bytes as PEM block',
  );
});

test('it does not answer in time', async () => {
  const begunAt = Date.now();
  expect(await failing('nothing')).toMatch(/^failed to call webhook: Post ".*": context deadline exceeded$/);
  expect(Date.now() - begunAt).toBeGreaterThanOrEqual(1_000);
});

test('it answers with an error', async () => {
  expect(await failing({ status: 500, body: 'oops' })).toBe(
    'failed to call webhook: an error on the server ("oops") has prevented the request from succeeding',
  );
  expect(await failing({ status: 400, body: 'oops' })).toBe(
    'failed to call webhook: the server rejected our request for an unknown reason',
  );
  expect(await failing({ status: 404, body: '' })).toBe(
    'failed to call webhook: the server could not find the requested resource',
  );
});

test('it answers something else than a review of the question', async () => {
  expect(await failing(body({}))).toBe('received invalid webhook response: webhook response was absent');
  expect(await failing(body({ response: { uid: 'other', allowed: true } }))).toMatch(
    /^received invalid webhook response: expected response\.uid="[0-9a-f-]{36}", got "other"$/,
  );
  expect(await failing({ response: { allowed: true, patch: 'W10=' } })).toBe(
    'received invalid webhook response: validating webhook may not return response.patch',
  );
});

test('the kind of the answer is checked', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(({ review }) => ({
    body: JSON.stringify({ response: { uid: review.request.uid, allowed: true } }),
  }));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect(await messageOf(sandbox)).toBe(
    'received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
  );
});

test('with failurePolicy Ignore the deletion goes through, and the audit log says that nobody was asked', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ status: 500, body: '' }));
  register(sandbox, webhook.at, { failurePolicy: 'Ignore' });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect((await sandbox.delete('machineconfigs', 'rendered-a-1')).status).toBe(200);
  expect(sandbox.audit.of('delete')[0]?.annotations).toEqual({
    'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'guard.example.io',
  });
});

test('a refusal is no failure: Ignore does not ignore it', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: false } }));
  register(sandbox, webhook.at, { failurePolicy: 'Ignore' });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect((await sandbox.delete('machineconfigs', 'rendered-a-1')).status).toBe(400);
});
