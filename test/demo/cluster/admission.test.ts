import { expect, test } from 'vitest';
import { register, type StubAnswer, stubWebhook } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const CONFIG = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const PATH = `/apis/machineconfiguration.openshift.io/v1/machineconfigs/${CONFIG}`;
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

test('sends the review that kube-apiserver sends', async () => {
  const { cluster, calls } = await registerWebhook(ALLOWED);
  const object = cluster.get('machineconfigs', CONFIG);
  await cluster.delete('machineconfigs', CONFIG, { as: 'jane' });
  const groupVersion = { group: 'machineconfiguration.openshift.io', version: 'v1' };
  expect(calls).toEqual([
    {
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: { ...groupVersion, kind: 'MachineConfig' },
        resource: { ...groupVersion, resource: 'machineconfigs' },
        requestKind: { ...groupVersion, kind: 'MachineConfig' },
        requestResource: { ...groupVersion, resource: 'machineconfigs' },
        name: CONFIG,
        operation: 'DELETE',
        userInfo: { username: 'jane' },
        object: null,
        oldObject: object,
        dryRun: false,
        options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' },
      },
    },
  ]);
  expect(exists(cluster)).toBe(false);
});

const WEBHOOK = 'webhook "guard.machineconfig-guard.io"';

test.each<[string, StubAnswer, 'Fail' | 'Ignore', number, string]>([
  [
    'denies in the words of the webhook',
    DENIED,
    'Ignore',
    403,
    `admission ${WEBHOOK} denied the request: it is in use`,
  ],
  ['denies without an answer in time', 'nothing', 'Fail', 500, 'context deadline exceeded'],
  [
    'denies after the answer to another review',
    { response: { uid: 'other', allowed: true } },
    'Fail',
    500,
    'another uid',
  ],
  ['denies after an error', { status: 502, body: 'oops' }, 'Fail', 500, `failed calling ${WEBHOOK}: `],
])('%s', async (_title, answer, failurePolicy, expectedStatus, message) => {
  const { cluster } = await registerWebhook(answer, failurePolicy);
  const { status, body } = await cluster.delete('machineconfigs', CONFIG);
  const reason = expectedStatus === 403 ? 'Forbidden' : 'InternalError';
  expect([status, body]).toEqual([expectedStatus, expect.objectContaining({ kind: 'Status', reason })]);
  expect(body.message).toContain(message);
  expect(exists(cluster)).toBe(true);
});

test('allows with failurePolicy Ignore if the webhook fails', async () => {
  const { cluster } = await registerWebhook({ status: 500, body: 'oops' }, 'Ignore');
  expect((await cluster.delete('machineconfigs', CONFIG)).status).toBe(200);
  expect(exists(cluster)).toBe(false);
});

test('asks no webhook about other objects or its own registration', async () => {
  const { cluster, calls } = await registerWebhook(DENIED);
  cluster.create('machineconfigs', { metadata: { name: '99-worker-ssh' } });
  expect((await cluster.delete('machineconfigs', '99-worker-ssh')).status).toBe(200);
  expect((await cluster.delete('validatingwebhookconfigurations', 'machineconfig-guard')).status).toBe(200);
  expect(calls).toEqual([]);
});

test('asks the webhook and keeps the object in a dry run, and deletes only the object with the uid', async () => {
  const { cluster, calls } = await registerWebhook(ALLOWED);
  const { resourceVersion } = cluster;
  expect((await cluster.request('DELETE', `${PATH}?dryRun=All`)).status).toBe(200);
  expect(calls.map(({ request }) => request['dryRun'])).toEqual([true]);
  expect([exists(cluster), cluster.resourceVersion]).toEqual([true, resourceVersion]);

  const uid = cluster.get('machineconfigs', CONFIG)?.metadata.uid;
  expect((await cluster.request('DELETE', PATH, { preconditions: { uid: 'other' } })).status).toBe(409);
  expect((await cluster.request('DELETE', PATH, { preconditions: { uid } })).status).toBe(200);
});
