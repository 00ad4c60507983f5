import { expect, test, vi } from 'vitest';
import { watcher, type Watcher } from './watcher.ts';
import { METADATA, NODES, POOLS, startTestCluster } from '../support/test-cluster.ts';

function said({ events }: Watcher): string[] {
  return events.map(({ type, object }) => `${type} ${String(object.metadata['name'])}`);
}

test('a watch continues from the version of a list, with that kind alone', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'before' } });
  const { body } = await sandbox.request('GET', NODES);
  sandbox.create('nodes', { metadata: { name: 'a' } });
  const watch = await watcher(
    sandbox,
    `${NODES}?watch=1&resourceVersion=${String(body.metadata?.['resourceVersion'])}`,
  );
  sandbox.create('machineconfigpools', { metadata: { name: 'master' } });
  sandbox.patch('nodes', 'a', { metadata: { annotations: { x: '1' } } });
  await sandbox.request('DELETE', `${NODES}/a`);
  await vi.waitFor(() => {
    expect(said(watch)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
  });
  const versions = watch.events.map(({ object }) => Number(object.metadata['resourceVersion']));
  expect(versions).toEqual([1002, 1004, 1005]);
});

test('a watch without a version begins with everything there is', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' } });
  const watch = await watcher(sandbox, `${NODES}?watch=true`);
  sandbox.create('nodes', { metadata: { name: 'b' } });
  await vi.waitFor(() => {
    expect(said(watch)).toEqual(['ADDED a', 'ADDED b']);
  });
});

test('metadata alone, where that is what the client accepts', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' }, status: { x: 1 } });
  const watch = await watcher(sandbox, `${NODES}?watch=1`, METADATA);
  await vi.waitFor(() => {
    expect(watch.events).toHaveLength(1);
  });
  expect(watch.events[0]?.object).toMatchObject({ kind: 'PartialObjectMetadata' });
  expect(watch.events[0]?.object).not.toHaveProperty('status');
});

test('bookmarks come where they were asked for, and only there', async () => {
  const sandbox = await startTestCluster({ bookmarkMs: 20 });
  const version = sandbox.resourceVersion;
  const without = await watcher(sandbox, `${POOLS}?watch=1&resourceVersion=${version}`);
  const watch = await watcher(sandbox, `${POOLS}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}`);
  sandbox.create('nodes', { metadata: { name: 'a' } });
  await vi.waitFor(() => {
    // A bookmark moves on with changes of other kinds: that is what it is for.
    expect(watch.events.at(-1)).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1001' } } });
  });
  expect(watch.events[0]?.object['kind']).toBe('MachineConfigPool');
  expect(without.events).toEqual([]);
});

test('a watch ends when its time is up', async () => {
  const sandbox = await startTestCluster();
  const begunAt = Date.now();
  const watch = await watcher(sandbox, `${NODES}?watch=1&timeoutSeconds=1`);
  expect(sandbox.openWatches).toBe(1);
  expect(await watch.over).toBe('ended');
  expect(Date.now() - begunAt).toBeGreaterThanOrEqual(900);
});

test('a streaming list is refused rather than left without its end', async () => {
  const sandbox = await startTestCluster();
  const { status } = await sandbox.request('GET', `${NODES}?watch=1&sendInitialEvents=true`);
  expect(status).toBe(422);
});
