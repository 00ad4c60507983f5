import { expect, test, vi } from 'vitest';
import type { Fault, Interceptor } from '../support/faults.ts';
import { SettingsFollower, type SettingsFollowerOptions } from '../../src/guard/settings-follower.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';
import { findCurrentSettings } from '../../src/review/decide.ts';

const RESOURCE = 'machineconfigguards';
const isFollowed = ({ method, path }: { method: string; path: string }) =>
  method === 'GET' && path.endsWith(`/${RESOURCE}/cluster`);

interface FollowOptions extends Pick<SettingsFollowerOptions, 'createIntervalMs'> {
  mode?: unknown;
  fault?: Interceptor;
}

/** Follows the settings of a new cluster, with an object if a mode is present. */
async function follow({ mode, fault = () => 'pass', ...options }: FollowOptions) {
  const cluster = await startTestCluster();
  if (mode !== undefined) cluster.create(RESOURCE, { metadata: { name: 'cluster' }, spec: { mode } });
  cluster.faults.intercept(fault);
  const { log, messages } = memoryLog();
  const api = cluster.connect();
  const follower = new SettingsFollower({ api, log, intervalMs: 10, createIntervalMs: 50, ...options });
  runUntilEnd((signal) => follower.run(signal));
  const awaitMode = async (expected: string) =>
    await expect.poll(() => findCurrentSettings(follower)?.mode).toBe(expected);
  const patch = (change: Record<string, unknown>) => void cluster.patch(RESOURCE, 'cluster', change);
  const readSpec = () => cluster.get(RESOURCE, 'cluster')?.['spec'];
  const countPosts = () => cluster.faults.requests.filter(({ method }) => method === 'POST').length;
  return { cluster, follower, messages, awaitMode, patch, readSpec, countPosts };
}

/** A change that is no change of the settings. */
const LABELS = { metadata: { labels: { a: 'b' } } };

test('applies each mode and logs it once, and Enforce when the object is deleted, which it creates again', async () => {
  const { cluster, follower, messages, awaitMode, patch, readSpec } = await follow({ mode: 'Warn' });
  await awaitMode('Warn');
  patch({ spec: { mode: 'Disabled', holdSuperseded: '1h' } });
  await expect.poll(() => findCurrentSettings(follower)).toEqual({ mode: 'Disabled', holdSupersededMs: 3_600_000 });
  patch(LABELS);
  cluster.erase(RESOURCE, 'cluster');
  await expect.poll(readSpec).toEqual({});
  expect(findCurrentSettings(follower)?.mode).toBe('Enforce');
  const created = 'machineconfigguard cluster created, because it did not exist';
  await expect.poll(messages).toEqual(['mode is Warn', 'mode is Disabled', 'mode is Enforce', created]);
});

test('reads the settings every second', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout');
  let reads = 0;
  const json = async () => await Promise.resolve({ kind: 'MachineConfigGuard', spec: {}, read: (reads += 1) });
  const follower = new SettingsFollower({ api: { json }, log: memoryLog().log });
  runUntilEnd((signal) => follower.run(signal));
  await vi.advanceTimersByTimeAsync(999);
  expect(reads).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(reads).toBe(2);
});

test('reads the settings again after one of their reads hangs for 5 s', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  let hungCount = 0;
  const { cluster, awaitMode } = await follow({ mode: 'Audit', fault: () => ((hungCount += 1), 'hang') });
  await expect.poll(() => hungCount).toBe(1);
  cluster.faults.clear();
  await vi.advanceTimersByTimeAsync(5_000);
  await awaitMode('Audit');
});

test('logs once that the object cannot be created, however often it tries', async () => {
  const fault: Interceptor = ({ method }) => (method === 'POST' ? { status: 403 } : 'pass');
  const { messages, countPosts } = await follow({ createIntervalMs: 10, fault });
  await expect.poll(countPosts).toBeGreaterThan(2);
  expect(messages().filter((message) => message.includes('cannot create'))).toEqual([
    'cannot create machineconfigguard cluster: the API server answered 403',
  ]);
});

test('applies Enforce and creates nothing if the CRD is absent', async () => {
  const { cluster, messages, awaitMode, countPosts } = await follow({ mode: 'Disabled' });
  await awaitMode('Disabled');
  cluster.serve(RESOURCE, []);
  await awaitMode('Enforce');
  await expect.poll(countPosts).toBeGreaterThan(1);
  expect(messages().filter((text) => text.includes('does not serve machineconfigguards'))).toHaveLength(1);
});

test.each<[string, Fault]>([
  ['500', { status: 500 }],
  ['404 without a reason, as of a proxy', { status: 404 }],
  ['an object of another kind', { status: 200, body: { kind: 'Status', status: 'Success' } }],
  ['null', { status: 200, body: 'null' }],
])('keeps the last mode while the answer is %s', async (_title, fault) => {
  const { cluster, follower, messages, awaitMode, patch } = await follow({ mode: 'Audit' });
  await awaitMode('Audit');
  cluster.faults.intercept((request) => (isFollowed(request) ? fault : 'pass'));
  const problem = expect.stringMatching(/^cannot read machineconfigguard cluster: .*; keeping mode Audit$/);
  await expect.poll(messages).toEqual(['mode is Audit', problem]);
  expect(findCurrentSettings(follower)?.mode).toBe('Audit');
  cluster.faults.clear();
  patch({ spec: { mode: 'Warn' } });
  await awaitMode('Warn');
  await expect.poll(messages).toContain('machineconfigguard cluster is readable again');
});

test('uses Enforce after 15 s without a read, keeps the hold, and uses the mode again once it is read', async () => {
  fakeUntilEnd('performance');
  const { cluster, follower, messages, awaitMode, patch } = await follow({ mode: 'Disabled' });
  patch({ spec: { holdSuperseded: '1h' } });
  const disabled = { mode: 'Disabled', holdSupersededMs: 3_600_000 };
  await expect.poll(() => findCurrentSettings(follower)).toEqual(disabled);
  const recover = cluster.faults.intercept((request) => (isFollowed(request) ? { status: 403 } : 'pass'));
  await expect.poll(messages).toContainEqual(expect.stringMatching(/; keeping mode Disabled$/));
  vi.advanceTimersByTime(15_001);
  expect(findCurrentSettings(follower)).toEqual({ ...disabled, mode: 'Enforce', outdatedMode: 'Disabled' });
  await expect.poll(messages).toContainEqual(expect.stringMatching(/; using mode Enforce$/));
  recover();
  await awaitMode('Disabled');
  expect(findCurrentSettings(follower)).toEqual(disabled);
});

test('has no settings until the object was readable', async () => {
  const fault: Interceptor = (request) => (isFollowed(request) ? { status: 500 } : 'pass');
  const { cluster, follower, messages, awaitMode } = await follow({ mode: 'Disabled', fault });
  await expect.poll(messages).toEqual([expect.stringMatching(/; denying deletions until then$/)]);
  expect(findCurrentSettings(follower)).toBeUndefined();
  cluster.faults.clear();
  await awaitMode('Disabled');
});
