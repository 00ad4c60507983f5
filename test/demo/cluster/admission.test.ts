import { expect, test } from 'vitest';
import { register, type StubAnswer, stubWebhook } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const CONFIG = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const PATH = `/apis/machineconfiguration.openshift.io/v1/machineconfigs/${CONFIG}`;
const ALLOWED: StubAnswer = { response: { allowed: true } };
const DENIED = {
  response: {
    allowed: false,
    status: {
      code: 403,
      reason: 'Forbidden',
      message: 'it is in use',
    },
  },
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

test('denies in the words of the webhook', async () => {
  const { cluster } = await registerWebhook(DENIED, 'Ignore');
  const { status, body } = await cluster.delete('machineconfigs', CONFIG);
  expect(status).toBe(403);
  expect(body).toMatchObject({
    kind: 'Status',
    reason: 'Forbidden',
    message: 'admission webhook "guard.machineconfig-guard.io" denied the request: it is in use',
  });
  expect(exists(cluster)).toBe(true);
});

test.each<[string, StubAnswer, string]>([
  ['does not answer in time', 'nothing', 'context deadline exceeded'],
  ['answers another review', { response: { uid: 'other', allowed: true } }, 'or has another uid'],
])('denies with failurePolicy Fail if the webhook %s', async (_title, answer, message) => {
  const { cluster } = await registerWebhook(answer);
  const { status, body } = await cluster.delete('machineconfigs', CONFIG);
  expect([status, body.reason]).toEqual([500, 'InternalError']);
  expect(body.message).toContain('failed calling webhook "guard.machineconfig-guard.io": ');
  expect(body.message).toContain(message);
  expect(exists(cluster)).toBe(true);
});

test('allows with failurePolicy Ignore if the webhook fails', async () => {
  const { cluster } = await registerWebhook({ status: 500, body: 'oops' }, 'Ignore');
  expect((await cluster.delete('machineconfigs', CONFIG)).status).toBe(200);
});

test('asks no webhook about other objects or its own registration', async () => {
  const { cluster, calls } = await registerWebhook(DENIED);
  cluster.create('machineconfigs', { metadata: { name: '99-worker-ssh' } });
  expect((await cluster.delete('machineconfigs', '99-worker-ssh')).status).toBe(200);
  expect((await cluster.delete('validatingwebhookconfigurations', 'machineconfig-guard')).status).toBe(200);
  expect(calls).toEqual([]);
});

test('asks the webhook and keeps the object in a dry run', async () => {
  const { cluster, calls } = await registerWebhook(ALLOWED);
  const version = cluster.resourceVersion;
  expect((await cluster.request('DELETE', `${PATH}?dryRun=All`)).status).toBe(200);
  expect(calls.map(({ request }) => request['dryRun'])).toEqual([true]);
  expect([exists(cluster), cluster.resourceVersion]).toEqual([true, version]);
});

test('deletes only the object with the uid of the precondition', async () => {
  const { cluster } = await registerWebhook(ALLOWED);
  const uid = cluster.get('machineconfigs', CONFIG)?.metadata.uid;
  expect((await cluster.request('DELETE', PATH, { preconditions: { uid: 'other' } })).status).toBe(409);
  expect((await cluster.request('DELETE', PATH, { preconditions: { uid } })).status).toBe(200);
});
