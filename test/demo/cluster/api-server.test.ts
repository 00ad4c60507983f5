import { beforeEach, expect, test } from 'vitest';
import { acceptHeaderForList } from '../../../src/kube/resource.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const NODES = '/api/v1/nodes';
const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
const SIGNAL = new AbortController().signal;

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startTestCluster();
  cluster.create('nodes', { metadata: { name: 'b', labels: { role: 'worker' } }, status: { x: 1 } });
  cluster.create('nodes', { metadata: { name: 'a', labels: { role: 'master' }, annotations: { x: '1', y: '2' } } });
});

test('lists all or selected objects, whole or as metadata', async () => {
  const api = cluster.connect();
  const names = async (query: string): Promise<string[]> => {
    const list = await api.json({ path: `${NODES}?${query}`, signal: SIGNAL });
    return (list as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
  };
  expect(await names('')).toEqual(['a', 'b']);
  expect(await names('labelSelector=role%3Dworker')).toEqual(['b']);
  expect(await names('labelSelector=role,!other')).toEqual(['a', 'b']);
  expect(await names('fieldSelector=metadata.name%3Da')).toEqual(['a']);
  await expect(names('labelSelector=a%3Db%3Dc')).rejects.toMatchObject({ status: 400 });
  const partial = await api.json({ path: NODES, accept: acceptHeaderForList(true), signal: SIGNAL });
  expect(partial).toMatchObject({
    kind: 'PartialObjectMetadataList',
    metadata: { resourceVersion: '1002' },
    items: [{ metadata: { name: 'a' } }, { kind: 'PartialObjectMetadata', metadata: { name: 'b' } }],
  });
  expect(JSON.stringify(partial)).not.toContain('status');
  const empty = await api.json({ path: CONFIGS, accept: acceptHeaderForList(true), signal: SIGNAL });
  expect(empty).toMatchObject({ items: null });
});

test('creates and changes nothing in a dry run', async () => {
  const version = cluster.resourceVersion;
  const body = { metadata: { name: 'c', labels: { x: '1' } } };
  const patch = { metadata: { labels: { x: '1' } } };
  expect(await cluster.request('POST', `${NODES}?dryRun=All`, body)).toMatchObject({ status: 201, body });
  expect(await cluster.request('PATCH', `${NODES}/a?dryRun=All`, patch)).toMatchObject({ status: 200, body: patch });
  expect(await cluster.request('POST', `${NODES}?dryRun=Some`, body)).toMatchObject({ status: 422 });
  expect(cluster.resourceVersion).toBe(version);
});
