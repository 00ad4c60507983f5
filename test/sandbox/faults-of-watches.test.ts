import { expect, test, vi } from 'vitest';
import { watcher, type Watcher } from './watcher.ts';
import { NODES, type TestCluster, startTestCluster } from '../support/test-cluster.ts';

async function watchFrom(sandbox: TestCluster, version: number): Promise<Watcher> {
  return await watcher(sandbox, `${NODES}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}`);
}

function names({ events }: Watcher): unknown[] {
  return events.map(({ object }) => object.metadata['name']);
}

/** Long enough for an event to arrive that must not. */
async function aMoment(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
}

test('dropped watches are cut, other connections are not', async () => {
  const sandbox = await startTestCluster();
  const watch = await watchFrom(sandbox, sandbox.resourceVersion);
  sandbox.faults.dropWatches();
  expect(await watch.over).toBe('cut');
  expect((await sandbox.request('GET', NODES)).status).toBe(200);
});

test('frozen watches stay open and silent, new ones too, and tell the rest when they thaw', async () => {
  const sandbox = await startTestCluster({ bookmarkMs: 10 });
  const version = sandbox.resourceVersion;
  sandbox.faults.freezeWatches();
  const watch = await watchFrom(sandbox, version);
  sandbox.create('nodes', { metadata: { name: 'a' } });
  await aMoment();
  expect(watch.events).toEqual([]);
  sandbox.faults.thawWatches();
  await vi.waitFor(() => {
    expect(names(watch)).toContain('a');
  });
});

test('expired watches end with the error that clients know', async () => {
  const sandbox = await startTestCluster();
  const watch = await watchFrom(sandbox, sandbox.resourceVersion);
  sandbox.faults.expireWatches();
  expect(await watch.over).toBe('ended');
  expect(watch.events).toMatchObject([{ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }]);
});

test('after a compaction an older version is gone, and an open watch goes on', async () => {
  const sandbox = await startTestCluster();
  const old = sandbox.resourceVersion;
  const open = await watchFrom(sandbox, old);
  sandbox.create('nodes', { metadata: { name: 'a' } });
  sandbox.faults.compact();
  const late = await watchFrom(sandbox, old);
  expect(await late.over).toBe('ended');
  expect(late.events).toMatchObject([
    { type: 'ERROR', object: { code: 410, message: 'too old resource version: 1000 (1001)' } },
  ]);
  sandbox.create('nodes', { metadata: { name: 'b' } });
  await vi.waitFor(() => {
    expect(names(open)).toEqual(['a', 'b']);
  });
});

test('after a restore versions go back, and watches of the future hear nothing', async () => {
  const sandbox = await startTestCluster();
  const backup = sandbox.faults.snapshot();
  for (const name of ['a', 'b', 'c']) sandbox.create('nodes', { metadata: { name } });
  const open = await watchFrom(sandbox, sandbox.resourceVersion);
  sandbox.faults.restore(backup);
  expect(sandbox.list('nodes')).toEqual([]);
  expect(sandbox.resourceVersion).toBe(backup.version);
  sandbox.create('nodes', { metadata: { name: 'd' } });
  const late = await watchFrom(sandbox, backup.version + 3);
  await aMoment();
  expect([names(open), names(late)]).toEqual([[], []]);
  const list = await sandbox.request('GET', NODES);
  expect(list.body.metadata).toEqual({ resourceVersion: String(backup.version + 1) });
});
