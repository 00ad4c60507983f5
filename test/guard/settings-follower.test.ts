import { expect, onTestFinished, test } from 'vitest';
import type { Interceptor } from '../support/faults.ts';
import { SettingsFollower } from '../../src/guard/settings-follower.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../src/kube/connection.ts';
import { memoryLog } from '../support/log.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const RESOURCE = 'machineconfigguards';
const isFollowed = ({ path }: { path: string }): boolean => path.endsWith(`/${RESOURCE}`);

interface Followed {
  readonly cluster: TestCluster;
  readonly follower: SettingsFollower;
  readonly messages: () => string[];
}

async function follow({
  mode,
  createIntervalMs = 50,
}: { mode?: unknown; createIntervalMs?: number } = {}): Promise<Followed> {
  const cluster = await startTestCluster();
  if (mode !== undefined) cluster.create(RESOURCE, { metadata: { name: 'cluster' }, spec: { mode } });
  const { log, lines } = memoryLog();
  const api = new KubeApi(connectionFromKubeconfig(cluster.kubeconfig));
  const timing = { backoffMs: [5, 20], absentMs: 20, probeMs: 60_000, silenceMs: 60_000, requestMs: 5_000 } as const;
  const follower = new SettingsFollower({ api, log, timing, createIntervalMs });
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    api.close();
  });
  return { cluster, follower, messages: () => lines.map(({ msg }) => String(msg)) };
}

function countRequests(cluster: TestCluster, matches: Interceptor): () => number {
  let count = 0;
  cluster.faults.intercept((request) => {
    if (matches(request) !== 'pass') count += 1;
    return 'pass';
  });
  return () => count;
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
  const cluster = await startTestCluster();
  cluster.faults.intercept(({ method }) => (method === 'POST' ? { status: 403, body: {} } : 'pass'));
  const posts = countRequests(cluster, ({ method }) => (method === 'POST' ? 'reset' : 'pass'));
  const { log, lines } = memoryLog();
  const api = new KubeApi(connectionFromKubeconfig(cluster.kubeconfig));
  const follower = new SettingsFollower({ api, log, createIntervalMs: 10 });
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  await expect.poll(posts).toBeGreaterThan(2);
  stop.abort();
  await running;
  api.close();
  const messages = lines.map(({ msg }) => String(msg)).filter((message) => message.includes('cannot be created'));
  expect(messages).toEqual(['machineconfigguard cluster cannot be created: the API server answered 403']);
});

test('applies Enforce and creates nothing if the CRD is absent', async () => {
  const { cluster, follower, messages } = await follow({ mode: 'Disabled' });
  await expect.poll(() => follower.settings.mode).toBe('Disabled');
  const posts = countRequests(cluster, ({ method }) => (method === 'POST' ? 'reset' : 'pass'));
  cluster.serve(RESOURCE, []);
  cluster.faults.dropWatches();
  await expect.poll(() => follower.settings.mode).toBe('Enforce');
  const expected = 'machineconfigguards are not served by this cluster: Enforce holds';
  await expect.poll(() => messages().filter((message) => message === expected)).toHaveLength(1);
  expect(posts()).toBe(0);
});

test.each<readonly [string, ReturnType<Interceptor>]>([
  ['answers 500', { status: 500, body: {} }],
  ['answers 403', { status: 403, body: {} }],
  ['answers a plain 404 although discovery lists the kind', { status: 404, body: '404 page not found' }],
  ['does not answer JSON', { status: 200, body: '<html>' }],
  ['cuts the connection', 'reset'],
])('keeps the last mode while the API server %s', async (_name, fault) => {
  const { cluster, follower, messages } = await follow({ mode: 'Audit' });
  await expect.poll(() => follower.settings.mode).toBe('Audit');
  cluster.faults.intercept((request) => (isFollowed(request) ? fault : 'pass'));
  cluster.faults.dropWatches();
  const problems = (): string[] => messages().filter((message) => message.startsWith('cannot follow'));
  await expect.poll(() => problems().length).toBeGreaterThan(0);
  expect(follower.settings.mode).toBe('Audit');
  cluster.faults.clear();
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  await expect.poll(() => follower.settings.mode).toBe('Warn');
  expect(messages()).toContain('following machineconfigguards again');
});

test('applies Enforce while the object was never readable', async () => {
  const cluster = await startTestCluster();
  cluster.create(RESOURCE, { metadata: { name: 'cluster' }, spec: { mode: 'Disabled' } });
  cluster.faults.intercept((request) => (isFollowed(request) ? { status: 500, body: {} } : 'pass'));
  const { log, lines } = memoryLog();
  const api = new KubeApi(connectionFromKubeconfig(cluster.kubeconfig));
  const follower = new SettingsFollower({ api, log });
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  expect(follower.settings).toEqual({ mode: 'Enforce', holdSupersededMs: 0 });
  stop.abort();
  await running;
  api.close();
});

test('applies Enforce for an invalid mode and logs it once', async () => {
  const { cluster, follower, messages } = await follow({ mode: false });
  const problem =
    'machineconfigguard cluster: spec.mode false is none of Enforce, Warn, Audit, Disabled; Enforce holds';
  await expect.poll(() => messages()).toEqual([problem]);
  cluster.patch(RESOURCE, 'cluster', { metadata: { labels: { a: 'b' } } });
  expect(follower.settings.mode).toBe('Enforce');
  cluster.patch(RESOURCE, 'cluster', { spec: { mode: 'Warn' } });
  await expect.poll(() => messages()).toEqual([problem, 'mode is Warn', 'machineconfigguard cluster is followed']);
});
