import { expect, test } from 'vitest';
import { register, stubWebhook } from './stub-webhook.ts';
import { CONFIGS, NODES, startTestCluster } from '../support/test-cluster.ts';

test('the webhook is asked and told, and the object stays', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: true } }));
  register(sandbox, webhook.at);
  sandbox.create('machineconfigs', { metadata: { name: 'rendered-a-1' } });
  const before = sandbox.resourceVersion;
  const byQuery = await sandbox.delete('machineconfigs', 'rendered-a-1', { dryRun: true });
  const byBody = await sandbox.request('DELETE', `${CONFIGS}/rendered-a-1`, { dryRun: ['All'] });
  expect([byQuery.status, byBody.status]).toEqual([200, 200]);
  expect(webhook.calls.map(({ review }) => review.request['dryRun'])).toEqual([true, true]);
  expect(sandbox.resourceVersion).toBe(before);
});

test('other writes have one too', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' } });
  const before = sandbox.resourceVersion;
  await sandbox.request('POST', `${NODES}?dryRun=All`, { metadata: { name: 'b' } });
  const patch = { metadata: { labels: { x: '1' } } };
  const { body } = await sandbox.request('PATCH', `${NODES}/a?dryRun=All`, patch);
  expect(body.metadata).toMatchObject(patch.metadata);
  expect(sandbox.resourceVersion).toBe(before);
});

test('there is no other kind of dry run, whether there is such an object or not', async () => {
  const sandbox = await startTestCluster();
  expect((await sandbox.request('DELETE', `${NODES}/a?dryRun=Some`)).status).toBe(422);
  expect((await sandbox.request('DELETE', `${NODES}/a?dryRun=All`)).status).toBe(404);
  sandbox.create('nodes', { metadata: { name: 'a' } });
  expect((await sandbox.request('DELETE', `${NODES}/a?dryRun=Some`)).status).toBe(422);
  expect(sandbox.get('nodes', 'a')).toBeDefined();
});
