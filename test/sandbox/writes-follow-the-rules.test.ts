import { expect, test } from 'vitest';
import { CONFIGS, NODES, POOLS, startTestCluster } from '../support/test-cluster.ts';

test('a write gives the object a version of its own, above every earlier one of any kind', async () => {
  const sandbox = await startTestCluster();
  const first = await sandbox.request('POST', NODES, { metadata: { name: 'a' } });
  const second = await sandbox.request('POST', POOLS, { metadata: { name: 'master' } });
  expect(first.status).toBe(201);
  const versions = [first, second].map(({ body }) => Number(body.metadata?.['resourceVersion']));
  expect(versions).toEqual([1001, 1002]);
});

test('a name is given once', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' } });
  const { status, body } = await sandbox.request('POST', NODES, { metadata: { name: 'a' } });
  expect([status, body.reason, body.message]).toEqual([409, 'AlreadyExists', 'nodes "a" already exists']);
});

test('an update from an old version is a conflict', async () => {
  const sandbox = await startTestCluster();
  const old = sandbox.create('nodes', { metadata: { name: 'a' } });
  sandbox.patch('nodes', 'a', { metadata: { annotations: { x: '1' } } });
  const { status, body } = await sandbox.request('PUT', `${NODES}/a`, old);
  expect([status, body.reason]).toEqual([409, 'Conflict']);
});

test('a merge patch changes what it names, removes what it nulls and keeps the rest', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a', annotations: { x: '1', y: '2' } } });
  const patch = { metadata: { annotations: { x: null, z: '3' } } };
  const { body } = await sandbox.request('PATCH', `${NODES}/a`, patch);
  expect(body.metadata).toMatchObject({ annotations: { y: '2', z: '3' } });
  const annotations = (sandbox.get('nodes', 'a')?.metadata.annotations ?? {}) as Record<string, string>;
  expect(Object.keys(annotations)).toEqual(['y', 'z']);
});

test('a patch that changes nothing makes no version', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a', annotations: { x: '1' } } });
  const before = sandbox.resourceVersion;
  await sandbox.request('PATCH', `${NODES}/a`, { metadata: { annotations: { x: '1' } } });
  expect(sandbox.resourceVersion).toBe(before);
});

test('status is written through /status, and the rest is not', async () => {
  const sandbox = await startTestCluster();
  await sandbox.request('POST', POOLS, { metadata: { name: 'master' }, spec: { a: 1 }, status: { b: 1 } });
  expect(sandbox.get('machineconfigpools', 'master')).not.toHaveProperty('status.b');
  const change = { spec: { a: 2 }, status: { b: 2 } };
  await sandbox.request('PATCH', `${POOLS}/master/status`, change);
  expect(sandbox.get('machineconfigpools', 'master')).toMatchObject({ spec: { a: 1 }, status: { b: 2 } });
  await sandbox.request('PATCH', `${POOLS}/master`, { spec: { a: 3 }, status: { b: 3 } });
  expect(sandbox.get('machineconfigpools', 'master')).toMatchObject({ spec: { a: 3 }, status: { b: 2 } });
  expect((await sandbox.request('PATCH', `${CONFIGS}/x/status`, {})).status).toBe(404);
});

test('generation counts changes of what was asked for, not of status or metadata', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('machineconfigpools', { metadata: { name: 'master' }, spec: { a: 1 } });
  sandbox.patch('machineconfigpools', 'master', { metadata: { labels: { l: '1' } } });
  sandbox.patch('machineconfigpools', 'master', { status: { b: 1 } });
  expect(sandbox.get('machineconfigpools', 'master')?.metadata.generation).toBe(1);
  sandbox.patch('machineconfigpools', 'master', { spec: { a: 2 } });
  expect(sandbox.get('machineconfigpools', 'master')?.metadata.generation).toBe(2);
});

test('identity cannot be changed', async () => {
  const sandbox = await startTestCluster();
  const { uid, creationTimestamp } = sandbox.create('nodes', { metadata: { name: 'a' } }).metadata;
  await sandbox.request('PATCH', `${NODES}/a`, { metadata: { uid: 'other', creationTimestamp: null } });
  expect(sandbox.get('nodes', 'a')?.metadata).toMatchObject({ uid, creationTimestamp });
});

test('an object with finalizers waits for them', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('machineconfigpools', { metadata: { name: 'infra' } });
  const options = { propagationPolicy: 'Foreground' };
  const { status, body } = await sandbox.request('DELETE', `${POOLS}/infra`, options);
  expect([status, body.kind]).toEqual([200, 'MachineConfigPool']);
  expect(sandbox.get('machineconfigpools', 'infra')?.metadata).toMatchObject({
    finalizers: ['foregroundDeletion'],
    deletionTimestamp: expect.any(String) as string,
  });
  await sandbox.request('PATCH', `${POOLS}/infra`, { metadata: { finalizers: null } });
  expect(sandbox.get('machineconfigpools', 'infra')).toBeUndefined();
});

test('preconditions of a deletion are checked', async () => {
  const sandbox = await startTestCluster();
  const { uid, resourceVersion } = sandbox.create('machineconfigs', { metadata: { name: '99-x' } }).metadata;
  for (const preconditions of [{ uid: 'other' }, { uid, resourceVersion: '1' }]) {
    const { status, body } = await sandbox.request('DELETE', `${CONFIGS}/99-x`, { preconditions });
    expect([status, body.reason]).toEqual([409, 'Conflict']);
  }
  const { status } = await sandbox.request('DELETE', `${CONFIGS}/99-x`, { preconditions: { uid, resourceVersion } });
  expect(status).toBe(200);
});

test('what the server cannot read it refuses', async () => {
  const sandbox = await startTestCluster();
  const refused = [
    await sandbox.request('POST', NODES, { kind: 'Pod', metadata: { name: 'a' } }),
    await sandbox.request('POST', NODES, []),
    await sandbox.request('PUT', `${NODES}/a`, { metadata: { name: 'b' } }),
    await sandbox.request('GET', `${NODES}?resourceVersion=x`),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  expect((await sandbox.request('POST', `${NODES}/a`, {})).status).toBe(405);
  expect((await sandbox.request('POST', NODES, { metadata: {} })).status).toBe(422);
});
