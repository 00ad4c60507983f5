import { expect, test } from 'vitest';
import { register, stubWebhook } from './stub-webhook.ts';
import { CONFIGS, startTestCluster } from '../support/test-cluster.ts';

test('each object is asked about by itself, and the first refusal ends it', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(({ review }) => {
    const { name } = (review.request['oldObject'] as { metadata: { name: string } }).metadata;
    const allowed = name !== 'rendered-b';
    return { response: { allowed, auditAnnotations: { decision: name, [allowed ? 'allowed' : 'denied']: name } } };
  });
  register(sandbox, webhook.at);
  for (const name of ['rendered-a', 'rendered-b', 'rendered-c'])
    sandbox.create('machineconfigs', { metadata: { name } });
  const { status } = await sandbox.request('DELETE', CONFIGS);
  expect(status).toBe(400);
  expect(sandbox.list('machineconfigs').map(({ metadata }) => metadata.name)).toEqual(['rendered-b', 'rendered-c']);
  expect(webhook.calls.map(({ review }) => 'name' in review.request)).toEqual([false, false]);
  // One event; of a key that came twice the first value stays.
  expect(sandbox.audit.of('deletecollection').map(({ annotations }) => annotations)).toEqual([
    {
      'guard.example.io/decision': 'rendered-a',
      'guard.example.io/allowed': 'rendered-a',
      'guard.example.io/denied': 'rendered-b',
    },
  ]);
});

test('a selector limits it', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('machineconfigs', { metadata: { name: 'a', labels: { x: '1' } } });
  sandbox.create('machineconfigs', { metadata: { name: 'b' } });
  const { status, body } = await sandbox.request('DELETE', `${CONFIGS}?labelSelector=x%3D1`);
  expect([status, body.items?.length]).toEqual([200, 1]);
  expect(sandbox.list('machineconfigs').map(({ metadata }) => metadata.name)).toEqual(['b']);
});
