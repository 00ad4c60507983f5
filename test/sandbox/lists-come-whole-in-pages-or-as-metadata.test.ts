import { expect, test } from 'vitest';
import { METADATA, METADATA_LIST, NODES, POOLS, startTestCluster } from '../support/test-cluster.ts';

test('an empty list is [] when typed and null as metadata', async () => {
  const sandbox = await startTestCluster();
  const typed = await sandbox.request('GET', POOLS);
  expect(typed.body).toMatchObject({ kind: 'MachineConfigPoolList', items: [] });
  const metadata = await sandbox.request('GET', POOLS, undefined, { headers: METADATA_LIST });
  expect(metadata.body).toMatchObject({ kind: 'PartialObjectMetadataList', items: null });
});

test('metadata alone has neither spec nor status', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a', annotations: { x: 'y' } }, spec: { z: 1 }, status: { z: 1 } });
  const { body } = await sandbox.request('GET', NODES, undefined, { headers: METADATA_LIST });
  expect(body.items).toHaveLength(1);
  expect(Object.keys(body.items?.[0] ?? {}).toSorted()).toEqual(['apiVersion', 'kind', 'metadata']);
  const one = await sandbox.request('GET', `${NODES}/a`, undefined, { headers: METADATA });
  expect(one.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a', annotations: { x: 'y' } } });
  expect(one.body['spec']).toBeUndefined();
});

test('items of a built-in kind do not repeat their type, those of a custom resource do', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' } });
  sandbox.create('machineconfigpools', { metadata: { name: 'a' } });
  expect((await sandbox.request('GET', NODES)).body.items?.[0]).not.toHaveProperty('kind');
  expect((await sandbox.request('GET', POOLS)).body.items?.[0]).toMatchObject({ kind: 'MachineConfigPool' });
});

test('pages follow each other without a gap or a repeat, as of one version', async () => {
  const sandbox = await startTestCluster();
  for (const name of ['c', 'a', 'b']) sandbox.create('nodes', { metadata: { name } });
  const first = await sandbox.request('GET', `${NODES}?limit=2`);
  expect(first.body.items).toMatchObject([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }]);
  expect(first.body.metadata).toMatchObject({ remainingItemCount: 1 });
  const token = String(first.body.metadata?.['continue']);
  const second = await sandbox.request('GET', `${NODES}?limit=2&continue=${token}`);
  expect(second.body.items).toMatchObject([{ metadata: { name: 'c' } }]);
  expect(second.body.metadata).toEqual({ resourceVersion: first.body.metadata?.['resourceVersion'] });
  sandbox.create('nodes', { metadata: { name: 'd' } });
  sandbox.faults.compact();
  const late = await sandbox.request('GET', `${NODES}?limit=2&continue=${token}`);
  expect(late).toMatchObject({ status: 410, body: { reason: 'Expired' } });
});

test('a version of the future is not answered', async () => {
  const sandbox = await startTestCluster();
  const { status, body } = await sandbox.request('GET', `${NODES}?resourceVersion=${sandbox.resourceVersion + 1}`);
  expect([status, body.message]).toEqual([504, 'Timeout: Too large resource version: 1001, current: 1000']);
});

test('labels select', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a', labels: { role: 'master' } } });
  sandbox.create('nodes', { metadata: { name: 'b', labels: { role: 'worker' } } });
  sandbox.create('nodes', { metadata: { name: 'c' } });
  const selected = async (selector: string): Promise<unknown[]> => {
    const { body } = await sandbox.request('GET', `${NODES}?labelSelector=${encodeURIComponent(selector)}`);
    return (body.items ?? []).map(({ metadata }) => (metadata as { name: string }).name);
  };
  expect(await selected('role=master')).toEqual(['a']);
  expect(await selected('role!=master')).toEqual(['b', 'c']);
  expect(await selected('role')).toEqual(['a', 'b']);
  expect(await selected('!role')).toEqual(['c']);
  const refused = await sandbox.request('GET', `${NODES}?labelSelector=${encodeURIComponent('role in (a)')}`);
  expect(refused.status).toBe(400);
});

test('a form that the server does not have is passed over, and refused where nothing else is accepted', async () => {
  const sandbox = await startTestCluster();
  const protobuf = 'application/vnd.kubernetes.protobuf';
  const both = await sandbox.request('GET', NODES, undefined, { headers: { accept: `${protobuf},application/json` } });
  expect(both.body.kind).toBe('NodeList');
  const only = await sandbox.request('GET', NODES, undefined, { headers: { accept: protobuf } });
  expect(only.status).toBe(406);
});
