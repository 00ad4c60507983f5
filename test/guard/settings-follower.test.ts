import { expect, onTestFinished, test } from 'vitest';
import type { Interceptor } from '../support/faults.ts';
import { SettingsFollower } from '../../src/guard/settings-follower.ts';
import { memoryLog } from '../support/log.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const RESOURCE = 'machineconfigguards';
const isFollowed = ({ path }: { path: string }) => path.endsWith(`/${RESOURCE}`);

const refuseToCreate: Interceptor = ({ method }) => (method === 'POST' ? { status: 403, body: {} } : 'pass');
const failToList: Interceptor = (request) => (isFollowed(request) ? { status: 500, body: {} } : 'pass');

interface FollowOptions {
  readonly mode?: unknown;
  readonly createIntervalMs?: number;
  readonly fault?: Interceptor;
}

/** Follows the settings of a new cluster, with an object if a mode is present. */
async function follow({ mode, createIntervalMs = 50, fault = () => 'pass' }: FollowOptions) {
  const cluster = await startTestCluster();
  if (mode !== undefined) cluster.create(RESOURCE, { metadata: { name: 'cluster' }, spec: { mode } });
  cluster.faults.intercept(fault);
  const { log, lines } = memoryLog();
  const api = cluster.connect();
  const timing = {
    backoffMs: [5, 20],
    absentMs: 20,
    probeMs: 60_000,
    silenceMs: 60_000,
    requestMs: 5_000,
  } as const;
  const follower = new SettingsFollower({ api, log, timing, createIntervalMs });
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { cluster, follower, messages: () => lines.map(({ msg }) => String(msg)) };
}

function countPosts({ faults }: TestCluster) {
  return faults.requests.filter(({ method }) => method === 'POST').length;
}

test('applies a change of the mode and logs it once', async () => {
  const { cluster, follower, messages } = await follow({ mode: 'Warn' });
  await expect.poll(() => follower.settings.mode).toBe('Warn');
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Disabled', holdSuperseded: '1h' } });
  await expect.poll(() => follower.settings).toEqual({ mode: 'Disabled', holdSupersededMs: 3_600_000 });
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  await expect.poll(() => messages()).toEqual(['mode is Warn', 'mode is Disabled']);
});

test('applies Enforce and creates the object with an empty spec when it is deleted', async () => {
  const { cluster, follower } = await follow({ mode: 'Disabled' });
  await expect.poll(() => follower.settings.mode).toBe('Disabled');
  cluster.erase(RESOURCE, 'cluster');
  await expect.poll(() => cluster.get(RESOURCE, 'cluster')?.['spec']).toEqual({});
  expect(follower.settings.mode).toBe('Enforce');
});

test('logs once that the object cannot be created, however often it tries', async () => {
  const { cluster, messages } = await follow({ createIntervalMs: 10, fault: refuseToCreate });
  await expect.poll(() => countPosts(cluster)).toBeGreaterThan(2);
  expect(messages().filter((message) => message.includes('cannot create'))).toEqual([
    'cannot create machineconfigguard cluster: the API server answered 403',
  ]);
});

test('applies Enforce and creates nothing if the CRD is absent', async () => {
  const { cluster, follower, messages } = await follow({ mode: 'Disabled' });
  await expect.poll(() => follower.settings.mode).toBe('Disabled');
  cluster.serve(RESOURCE, []);
  cluster.faults.dropWatches();
  await expect.poll(() => follower.settings.mode).toBe('Enforce');
  const expected = 'this cluster does not serve machineconfigguards; using Enforce';
  await expect.poll(() => messages().filter((message) => message === expected)).toHaveLength(1);
  expect(countPosts(cluster)).toBe(0);
});

test.each<[string, ReturnType<Interceptor>]>([
  ['answers 500', { status: 500, body: {} }],
  ['answers a plain 404 although discovery lists the kind', { status: 404, body: '404 page not found' }],
  ['cuts the connection', 'reset'],
])('keeps the last mode while the API server %s', async (_name, fault) => {
  const { cluster, follower, messages } = await follow({ mode: 'Audit' });
  await expect.poll(() => follower.settings.mode).toBe('Audit');
  cluster.faults.intercept((request) => (isFollowed(request) ? fault : 'pass'));
  cluster.faults.dropWatches();
  const problems = () => messages().filter((message) => message.startsWith('cannot watch'));
  await expect.poll(() => problems().length).toBeGreaterThan(0);
  expect(follower.settings.mode).toBe('Audit');
  cluster.faults.clear();
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  await expect.poll(() => follower.settings.mode).toBe('Warn');
  expect(messages()).toContain('watching machineconfigguards again');
});

test('applies Enforce while the object was never readable', async () => {
  const { follower, messages } = await follow({ mode: 'Disabled', fault: failToList });
  await expect.poll(() => messages().length).toBeGreaterThan(0);
  expect(follower.settings).toEqual({ mode: 'Enforce', holdSupersededMs: 0 });
});

test('applies Enforce for an invalid mode and logs it once', async () => {
  const { cluster, follower, messages } = await follow({ mode: false });
  const problem =
    'machineconfigguard cluster: spec.mode false is not one of Enforce, Warn, Audit, Disabled; using Enforce';
  await expect.poll(() => messages()).toEqual([problem]);
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  expect(follower.settings.mode).toBe('Enforce');
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  await expect
    .poll(() => messages())
    .toEqual([problem, 'mode is Warn', 'machineconfigguard cluster is readable again']);
});
