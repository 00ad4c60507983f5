import { expect, test } from 'vitest';
import { register, type StubAnswer, stubWebhook } from './stub-webhook.ts';
import { CONFIGS, startTestCluster } from '../support/test-cluster.ts';

const ALLOWED: StubAnswer = { response: { allowed: true } };

function denied(status: Record<string, unknown>): StubAnswer {
  return { response: { allowed: false, status } };
}

test('the review is the one that kube-apiserver sends', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ALLOWED);
  register(sandbox, webhook.at);
  const object = sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' }, spec: { config: { x: 1 } } });
  const options = { propagationPolicy: 'Background', preconditions: { uid: object.metadata.uid } };
  const as = 'system:serviceaccount:kube-system:generic-garbage-collector';
  await sandbox.request('DELETE', `${CONFIGS}/rendered-a-1`, options, { as });
  const [call] = webhook.calls;
  const groupVersion = { group: 'machineconfiguration.openshift.io', version: 'v1' };
  expect(call?.review).toEqual({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      kind: { ...groupVersion, kind: 'MachineConfig' },
      resource: { ...groupVersion, resource: 'machineconfigs' },
      requestKind: { ...groupVersion, kind: 'MachineConfig' },
      requestResource: { ...groupVersion, resource: 'machineconfigs' },
      name: 'rendered-a-1',
      operation: 'DELETE',
      userInfo: {
        username: as,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
      },
      object: null,
      oldObject: object,
      dryRun: false,
      options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', ...options },
    },
  });
  expect(call?.request).toMatchObject({ method: 'POST', url: '/validate?timeout=1s', httpVersion: '1.1' });
  expect(call?.request.headers).toMatchObject({
    'user-agent': 'kube-apiserver-admission',
    'content-length': expect.stringMatching(/^\d+$/) as string,
  });
});

test('a refusal reaches the client word by word, and the object stays', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => denied({ code: 403, reason: 'Forbidden', message: 'it is in use' }));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  const { status, body } = await sandbox.delete('machineconfigs', 'rendered-a-1');
  expect(status).toBe(403);
  expect(body).toMatchObject({
    kind: 'Status',
    status: 'Failure',
    reason: 'Forbidden',
    code: 403,
    message: 'admission webhook "guard.example.io" denied the request: it is in use',
  });
  expect(sandbox.get('machineconfigs', 'rendered-a-1')).toBeDefined();
});

test('a refusal without a code is a 400, one without a message shows its reason', async () => {
  const sandbox = await startTestCluster();
  const answers = [denied({ message: 'no' }), denied({ code: 200, reason: 'Because' }), denied({})];
  const webhook = await stubWebhook(() => answers.shift() ?? ALLOWED);
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  const seen = [];
  for (let round = 0; round < 3; round += 1) {
    const { status, body } = await sandbox.delete('machineconfigs', 'rendered-a-1');
    seen.push([status, body.message?.replace('admission webhook "guard.example.io" denied the request', '…')]);
  }
  expect(seen).toEqual([
    [400, '…: no'],
    [400, '…: Because'],
    [400, '… without explanation'],
  ]);
});

test('what matches no rule and no condition is never shown to the webhook', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => denied({}));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: '99-worker-x' } });
  sandbox.create('machineconfigpools', { metadata: { name: 'rendered-pool' } });
  expect((await sandbox.delete('machineconfigs', '99-worker-x')).status).toBe(200);
  expect((await sandbox.delete('machineconfigpools', 'rendered-pool')).status).toBe(200);
  expect((await sandbox.delete('validatingwebhookconfigurations', 'guard')).status).toBe(200);
  expect(webhook.calls).toEqual([]);
});

test('warnings become headers, annotations go into the audit log under the name of the webhook', async () => {
  const sandbox = await startTestCluster();
  const response = {
    allowed: true,
    warnings: ['say "hi"', 'and \\ that'],
    auditAnnotations: { allowed: 'yes', 'not/a key': 'dropped' },
  };
  const webhook = await stubWebhook(() => ({ response }));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  const { warnings } = await sandbox.delete('machineconfigs', 'rendered-a-1');
  expect(warnings).toEqual(response.warnings);
  expect(sandbox.audit.of('delete')).toMatchObject([
    { objectRef: { name: 'rendered-a-1' }, annotations: { 'guard.example.io/allowed': 'yes' } },
  ]);
  expect(Object.keys(sandbox.audit.of('delete')[0]?.annotations ?? {})).toHaveLength(1);
});

test('an answer may be compressed, since the API server says that it may', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: true }, gzip: true }));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect((await sandbox.delete('machineconfigs', 'rendered-a-1')).status).toBe(200);
  expect(webhook.calls[0]?.request.headers['accept-encoding']).toBe('gzip');
});

test('connections are kept between calls', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => denied({}));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  for (let round = 0; round < 3; round += 1) await sandbox.delete('machineconfigs', 'rendered-a-1');
  expect([webhook.calls.length, webhook.connections()]).toEqual([3, 1]);
});

test('a webhook behind a Service is called at its address under its own name', async () => {
  const webhook = await stubWebhook(() => ALLOWED);
  const { port } = new URL(webhook.at.url);
  const sandbox = await startTestCluster({
    resolveService: ({ name }) => (name === 'guard' ? { host: '127.0.0.1', port: Number(port) } : undefined),
  });
  const service = { name: 'guard', namespace: 'guard-system', path: '/validate' };
  register(sandbox, { service, caBundle: webhook.at.caBundle });
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  expect((await sandbox.delete('machineconfigs', 'rendered-a-1')).status).toBe(200);
  expect(webhook.calls[0]?.request.headers.host).toBe('guard.guard-system.svc');
});

test('an edit behind the back of admission asks nobody', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => denied({}));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  sandbox.erase('machineconfigs', 'rendered-a-1');
  expect(sandbox.get('machineconfigs', 'rendered-a-1')).toBeUndefined();
  expect(webhook.calls).toEqual([]);
});

test('a webhook that wants everything is still not asked about its own registration', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => denied({}));
  const everything = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] }];
  register(sandbox, webhook.at, { rules: everything, matchConditions: [] });
  sandbox.create('nodes', { metadata: { name: 'a' } });
  expect((await sandbox.delete('nodes', 'a')).status).toBe(400);
  expect((await sandbox.delete('validatingwebhookconfigurations', 'guard')).status).toBe(200);
});
