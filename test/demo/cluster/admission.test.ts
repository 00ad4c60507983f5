import { expect, test } from 'vitest';
import { register, type StubAnswer, stubWebhook } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const CONFIG = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const ALLOWED: StubAnswer = { response: { allowed: true } };
const DENIED: StubAnswer = {
  response: { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'it is in use' } },
};

async function registerWebhook(answer: StubAnswer, failurePolicy: 'Fail' | 'Ignore' = 'Fail') {
  const cluster = await startTestCluster();
  const { at, calls } = await stubWebhook(() => answer);
  register(cluster, at, failurePolicy);
  cluster.create('machineconfigs', { metadata: { name: CONFIG }, spec: { config: { x: 1 } } });
  return { cluster, calls };
}

function exists(cluster: TestCluster): boolean {
  return cluster.get('machineconfigs', CONFIG) !== undefined;
}

test('sends the fields of a review that the guard reads, and keeps the object in a dry run', async () => {
  const { cluster, calls } = await registerWebhook(ALLOWED);
  const object = cluster.get('machineconfigs', CONFIG);
  await cluster.delete('machineconfigs', CONFIG, { as: 'jane', dryRun: true });
  expect(cluster.get('machineconfigs', CONFIG)).toBe(object);
  await cluster.delete('machineconfigs', CONFIG, { as: 'jane' });
  expect(exists(cluster)).toBe(false);
  const request = {
    uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    operation: 'DELETE',
    resource: { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigs' },
    name: CONFIG,
    userInfo: { username: 'jane' },
    oldObject: object,
  };
  const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' };
  expect(calls).toEqual([true, false].map((dryRun) => ({ ...review, request: { ...request, dryRun } })));
});

const WEBHOOK = 'webhook "guard.machineconfig-guard.io"';
const FAILED = `Internal error occurred: failed calling ${WEBHOOK}: `;

test.each<[string, StubAnswer, 'Fail' | 'Ignore', number, string]>([
  ['the answer is a denial', DENIED, 'Ignore', 403, `admission ${WEBHOOK} denied the request: it is in use`],
  ['there is no answer in time', 'nothing', 'Fail', 500, FAILED],
  ['the answer is for another review', { response: { uid: 'other', allowed: true } }, 'Fail', 500, FAILED],
  ['the answer is an error', { status: 502, body: 'oops' }, 'Fail', 500, FAILED],
  ['the answer is an error and the failurePolicy Ignore', { status: 502, body: 'oops' }, 'Ignore', 200, ''],
])('decides about a deletion if %s', async (_title, answer, failurePolicy, expectedStatus, message) => {
  const { cluster } = await registerWebhook(answer, failurePolicy);
  const { status, body } = await cluster.delete('machineconfigs', CONFIG);
  expect([status, body.message ?? '']).toEqual([expectedStatus, expect.stringContaining(message)]);
  expect(exists(cluster)).toBe(expectedStatus !== 200);
});

test('asks no webhook about its own registration', async () => {
  const { cluster, calls } = await registerWebhook(DENIED);
  expect((await cluster.delete('validatingwebhookconfigurations', 'machineconfig-guard')).status).toBe(200);
  expect(calls).toEqual([]);
});
