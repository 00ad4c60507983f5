import { expect, test } from 'vitest';
import { startTestCluster } from '../../support/test-cluster.ts';

test('applies a merge patch, and rejects one of an old version', async () => {
  const cluster = await startTestCluster();
  cluster.create('nodes', { metadata: { name: 'a', annotations: { x: '1', y: '2' } } });
  const resourceVersion = cluster.get('nodes', 'a')?.metadata.resourceVersion;
  await cluster.request('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { x: null, z: '3' } } });
  expect(cluster.get('nodes', 'a')?.metadata.annotations).toEqual({ y: '2', z: '3' });
  expect((await cluster.request('PATCH', '/api/v1/nodes/a', { metadata: { resourceVersion } })).status).toBe(409);
});
