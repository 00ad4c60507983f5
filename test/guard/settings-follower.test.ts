import { expect, onTestFinished, test } from 'vitest';
import type { Fault, Interceptor } from '../support/faults.ts';
import { SettingsFollower, type SettingsFollowerOptions } from '../../src/guard/settings-follower.ts';
import { memoryLog } from '../support/log.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const RESOURCE = 'machineconfigguards';
const isFollowed = ({ method, path }: { method: string; path: string }) =>
  method === 'GET' && path.endsWith(`/${RESOURCE}/cluster`);

interface FollowOptions extends Pick<SettingsFollowerOptions, 'createIntervalMs' | 'initialSpec'> {
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
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { cluster, follower, messages };
}

function countPosts({ faults }: TestCluster) {
  return faults.requests.filter(({ method }) => method === 'POST').length;
}

test('applies a change of the mode and logs it once', async () => {
  const { cluster, follower, messages } = await follow({ mode: 'Warn' });
  await expect.poll(() => follower.settings?.mode).toBe('Warn');
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Disabled', holdSuperseded: '1h' } });
  await expect.poll(() => follower.settings).toEqual({ mode: 'Disabled', holdSupersededMs: 3_600_000 });
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  await expect.poll(messages).toEqual(['mode is Warn', 'mode is Disabled']);
});

test('applies Enforce and creates the object with an empty spec when it is deleted', async () => {
  const { cluster, follower } = await follow({ mode: 'Disabled' });
  await expect.poll(() => follower.settings?.mode).toBe('Disabled');
  cluster.erase(RESOURCE, 'cluster');
  await expect.poll(() => cluster.get(RESOURCE, 'cluster')?.['spec']).toEqual({});
  expect(follower.settings?.mode).toBe('Enforce');
});

test('creates the object with the initial spec', async () => {
  const initialSpec = { mode: 'Audit', holdSuperseded: '24h' } as const;
  const { cluster, follower } = await follow({ initialSpec });
  await expect.poll(() => cluster.get(RESOURCE, 'cluster')?.['spec']).toEqual(initialSpec);
  await expect.poll(() => follower.settings).toEqual({ mode: 'Audit', holdSupersededMs: 86_400_000 });
});

test('logs once that the object cannot be created, however often it tries', async () => {
  const fault: Interceptor = ({ method }) => (method === 'POST' ? { status: 403, body: {} } : 'pass');
  const { cluster, messages } = await follow({ createIntervalMs: 10, fault });
  await expect.poll(() => countPosts(cluster)).toBeGreaterThan(2);
  expect(messages().filter((message) => message.includes('cannot create'))).toEqual([
    'cannot create machineconfigguard cluster: the API server answered 403',
  ]);
});

test('applies Enforce and creates nothing if the CRD is absent', async () => {
  const { cluster, follower, messages } = await follow({ mode: 'Disabled' });
  await expect.poll(() => follower.settings?.mode).toBe('Disabled');
  cluster.serve(RESOURCE, []);
  await expect.poll(() => follower.settings?.mode).toBe('Enforce');
  const isProblem = (message: string) => message.includes('does not serve machineconfigguards');
  await expect.poll(() => messages().filter(isProblem)).toHaveLength(1);
  await expect.poll(() => countPosts(cluster)).toBeGreaterThan(1);
});

test.each<[string, Fault]>([
  ['500', { status: 500 }],
  ['404 without a reason, as of a proxy', { status: 404 }],
  ['an object of another kind', { status: 200, body: { kind: 'Status', status: 'Success' } }],
  ['null', { status: 200, body: 'null' }],
])('keeps the last mode while the answer is %s', async (_title, fault) => {
  const { cluster, follower, messages } = await follow({ mode: 'Audit' });
  await expect.poll(() => follower.settings?.mode).toBe('Audit');
  cluster.faults.intercept((request) => (isFollowed(request) ? fault : 'pass'));
  const problem = expect.stringMatching(/^cannot read machineconfigguard cluster: .*; keeping mode Audit$/);
  await expect.poll(messages).toEqual(['mode is Audit', problem]);
  expect(follower.settings?.mode).toBe('Audit');
  cluster.faults.clear();
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  await expect.poll(() => follower.settings?.mode).toBe('Warn');
  await expect.poll(messages).toContain('machineconfigguard cluster is readable again');
});

test('has no settings until the object was readable', async () => {
  const fault: Interceptor = (request) => (isFollowed(request) ? { status: 500 } : 'pass');
  const { cluster, follower, messages } = await follow({ mode: 'Disabled', fault });
  await expect.poll(messages).toEqual([expect.stringMatching(/; denying deletions until then$/)]);
  expect(follower.settings).toBeUndefined();
  cluster.faults.clear();
  await expect.poll(() => follower.settings?.mode).toBe('Disabled');
});

test('applies Enforce for an invalid mode and logs it once', async () => {
  const { cluster, follower, messages } = await follow({ mode: false });
  const problem = expect.stringMatching(/^machineconfigguard cluster: spec.mode false is .* using Enforce$/);
  await expect.poll(messages).toEqual(['mode is Enforce', problem]);
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  expect(follower.settings?.mode).toBe('Enforce');
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  const solved = 'machineconfigguard cluster is readable again';
  await expect.poll(messages).toEqual(['mode is Enforce', problem, 'mode is Warn', solved]);
});
