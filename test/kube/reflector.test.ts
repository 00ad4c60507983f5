import type { ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import type { Referrer } from '../../src/mco/referrer.ts';
import { METADATA } from '../../src/kube/lists/list-parser.ts';
import { Reflector, type ReflectorTiming } from '../../src/kube/reflector.ts';
import type { Fault, SeenRequest } from '../support/faults.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';
import { BUILDS, NODES } from '../../src/mco/resources.ts';
import type { Resource } from '../../src/kube/resource.ts';

const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
const TIMING = { backoffMs: [10, 50], absentMs: 30, probeMs: 60_000, silenceMs: 60_000, requestMs: 60_000 } as const;

interface FollowOptions {
  resource?: Resource<Referrer>;
  timing?: Partial<ReflectorTiming>;
  nodes?: readonly ReturnType<typeof toNode>[];
  onRequest?: (request: SeenRequest, cluster: TestCluster) => Fault;
}

/** Follows the nodes of a cluster until the end of the test. By default there is node a on rendered-1. */
async function follow({
  resource = NODES,
  timing,
  nodes = [toNode('a', 'rendered-1')],
  ...options
}: FollowOptions = {}) {
  const { onRequest = () => 'pass' } = options;
  const cluster = await startTestCluster();
  for (const node of nodes) cluster.create('nodes', node);
  cluster.faults.intercept((request) => onRequest(request, cluster));
  const { log, messages } = memoryLog();
  /** `NAME BEFORE AFTER` for each change, with `-` for an absent object. */
  const changes: string[] = [];
  const reflector = new Reflector({
    api: cluster.connect(),
    resource,
    log,
    timing: { ...TIMING, ...timing },
    onChange: (before, after) => {
      changes.push(`${(after ?? before)?.name} ${configOf(before)} ${configOf(after)}`);
    },
  });
  runUntilEnd((signal) => reflector.run(signal));
  const { requests, watches } = cluster.faults;
  return {
    cluster,
    reflector,
    messages,
    changes,
    awaitWatch: async () => await expect.poll(() => watches.size).toBe(1),
    sendToWatch: (text: string | Uint8Array) => watches.forEach((watch) => watch.write(text)),
    watches,
    /** `NAME CONFIG` of all known objects. */
    known: () => [...reflector.objects.values()].map((referrer) => `${referrer.name} ${configOf(referrer)}`).sort(),
    /** The resourceVersions that watches started from. */
    watchedVersions: () => requests.filter(({ isWatch }) => isWatch).map(({ query }) => query.get('resourceVersion')),
    listCount: () => requests.filter(({ isWatch, query }) => !isWatch && !query.has('limit')).length,
  };
}

function toNode(name: string, config: string) {
  return { metadata: { name, annotations: { [CURRENT_CONFIG]: config } } };
}

/** The list after an etcd restore. */
function toList(resourceVersion: string) {
  const { apiVersion, kind } = METADATA;
  const items = [{ ...METADATA, ...toNode('a', 'rendered-old') }];
  return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion }, items };
}

function setConfig(cluster: TestCluster, name: string, config: string) {
  cluster.patch('nodes', name, { metadata: { annotations: { [CURRENT_CONFIG]: config } } });
}

function configOf(referrer: Referrer | undefined) {
  return referrer?.references[0]?.config ?? '-';
}

const toEvent = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;
const toBookmark = (resourceVersion: string) => toEvent('BOOKMARK', { metadata: { resourceVersion } });

test('reports each change with the object before and after, also between two lists', async () => {
  const { cluster, changes, known, reflector, awaitWatch, messages, sendToWatch } = await follow();
  await awaitWatch();
  cluster.create('nodes', toNode('b', 'x'));
  setConfig(cluster, 'a', 'rendered-2');
  cluster.erase('nodes', 'b');
  // Events do not end where packets end.
  const metadata = { ...toNode('c', 'é').metadata, resourceVersion: '99' };
  const added = Buffer.from(toEvent('ADDED', { metadata }));
  const middle = added.indexOf('é') + 1;
  sendToWatch(added.subarray(0, middle));
  await expect.poll(() => changes).toEqual(['a - rendered-1', 'b - x', 'a rendered-1 rendered-2', 'b x -']);
  sendToWatch(added.subarray(middle));
  await expect.poll(() => changes).toHaveLength(5);
  const watch = cluster.faults.requests.find(({ isWatch }) => isWatch);
  expect(watch?.query.get('allowWatchBookmarks')).toBe('true');
  expect(Number(watch?.query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(300);
  expect(watch?.headers.accept).toContain('as=PartialObjectMetadata;');
  changes.splice(0);
  const recover = cluster.faults.intercept(() => ({ status: 503 }));
  sendToWatch(toEvent('ERROR', { code: 410 }));
  await expect.poll(messages).not.toEqual([]);
  // While the API server is unavailable, the reflector keeps what it knows.
  expect([reflector.isSynced, ...known()]).toEqual([true, 'a rendered-2', 'c é']);
  setConfig(cluster, 'a', 'rendered-3');
  cluster.create('nodes', toNode('d', 'x'));
  recover();
  await expect.poll(() => changes.toSorted()).toEqual(['a rendered-2 rendered-3', 'c é -', 'd - x']);
});

test('continues from the newest bookmark without a list if the watch ends', async () => {
  const { cluster, known, reflector, watchedVersions, listCount, awaitWatch, sendToWatch, watches } = await follow();
  await awaitWatch();
  const listedVersion = String(cluster.resourceVersion);
  cluster.create('machineconfigpools', { metadata: { name: 'worker' } });
  const bookmarkedVersion = String(cluster.resourceVersion);
  // Versions that go back, or are no numbers, do not count.
  const bookmarks = [bookmarkedVersion, '1', '', 'a-version', '-1', '1e99'].map(toBookmark).join('');
  // One chunk: the bookmarks have been read when the effect of the event is visible.
  sendToWatch(bookmarks + toEvent('ADDED', { metadata: { name: 'b', resourceVersion: listedVersion } }));
  await expect.poll(known).toEqual(['a rendered-1', 'b -']);
  expect(reflector.newestVersion).toBe(bookmarkedVersion);
  for (const watch of watches) watch.end();
  await expect.poll(watchedVersions).toEqual([listedVersion, bookmarkedVersion]);
  setConfig(cluster, 'a', 'rendered-2');
  await expect.poll(known).toEqual(['a rendered-2', 'b -']);
  expect(listCount()).toBe(1);
});

const TOO_OLD = { kind: 'Status', code: 410, message: 'too old resource version' };

test.each<[string, Fault]>([
  ['the version to watch from is gone', { status: 410, body: TOO_OLD }],
  ['the watch reported an error (410)', (response) => response.end(toEvent('ERROR', TOO_OLD))],
  ['the watch reported an error (500)', (response) => response.end(toEvent('ERROR', { ...TOO_OLD, code: 500 }))],
  ['a watch event is not JSON', (response) => response.end('garbage\n')],
  ['a watch event has no object', (response) => response.end(toEvent('MODIFIED', undefined))],
  ['a watch event has the unknown type FUTURE', (response) => response.end(toEvent('FUTURE', toNode('a', 'x')))],
  ['a watch event is larger than 8 MiB', (response) => void response.write('x'.repeat(9 * 1024 * 1024))],
])('lists again if %s', async (reason, fault) => {
  let watchCount = 0;
  const { known, listCount, awaitWatch, messages } = await follow({
    onRequest: ({ isWatch }, cluster) => {
      if (!isWatch || (watchCount += 1) > 1) return 'pass';
      setConfig(cluster, 'a', 'rendered-2');
      return fault;
    },
  });
  await awaitWatch();
  await expect.poll(known).toEqual(['a rendered-2']);
  expect(listCount()).toBe(2);
  expect(messages()).toEqual([`listing again: ${reason}`]);
});

test('does not accept an older list unless the probe finds that versions went back', async () => {
  let isStale = false;
  const { reflector, known, messages, awaitWatch, sendToWatch } = await follow({
    onRequest: ({ isWatch, query }) =>
      isStale && !isWatch && !query.has('limit') ? { status: 200, body: toList('1') } : 'pass',
  });
  await awaitWatch();
  const newest = reflector.newestVersion;
  isStale = true;
  sendToWatch(toEvent('ERROR', { code: 410 }));
  const problem = `cannot watch nodes: the list has version 1, which is older than ${newest}`;
  await expect.poll(messages).toContain(problem);
  expect([reflector.newestVersion, ...known()]).toEqual([newest, 'a rendered-1']);
  isStale = false;
  await expect.poll(messages).toContain('watching nodes again');
});

test('lists again if the silence ends during the probe before the next watch', async () => {
  fakeUntilEnd('performance');
  const probes: ServerResponse[] = [];
  const { awaitWatch, cluster, listCount, watches, watchedVersions } = await follow({
    onRequest: ({ query }) => (query.has('limit') ? (response) => probes.push(response) : 'pass'),
  });
  await awaitWatch();
  for (const watch of watches) watch.end();
  await expect.poll(() => probes).toHaveLength(1);
  vi.advanceTimersByTime(TIMING.silenceMs + 1);
  cluster.faults.clear();
  probes[0]?.end(JSON.stringify(toList(String(cluster.resourceVersion))));
  await expect.poll(() => watchedVersions().length).toBe(2);
  expect(listCount()).toBe(2);
});

test('does not report an event without a change of what it keeps', async () => {
  const { awaitWatch, changes, cluster } = await follow();
  await awaitWatch();
  cluster.patch('nodes', 'a', { metadata: { annotations: { 'example.io/heartbeat': '1' } } });
  setConfig(cluster, 'a', 'rendered-2');
  await expect.poll(() => changes).toEqual(['a - rendered-1', 'a rendered-1 rendered-2']);
});

test('follows a kind whose CRD is created and deleted', async () => {
  const { cluster, known, reflector, watches } = await follow({ resource: BUILDS });
  cluster.serve('machineosbuilds', []);
  await expect.poll(() => reflector.isSynced).toBe(true);
  expect(known()).toEqual([]);
  expect(cluster.faults.requests.some(({ path }) => path === BUILDS.paths[1])).toBe(true);
  const spec = { machineConfig: { name: 'rendered-1' } };
  cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec });
  cluster.serve('machineosbuilds', ['v1']);
  await expect.poll(known).toEqual(['b rendered-1']);
  cluster.serve('machineosbuilds', []);
  for (const watch of watches) watch.destroy();
  await expect.poll(known).toEqual([]);
  expect(reflector.isSynced).toBe(true);
  cluster.faults.intercept(() => ({ status: 403 }));
  await expect.poll(() => [reflector.isForbidden, reflector.contentProblem]).toEqual([true, undefined]);
});

test.each([
  ['a probe', 5],
  ['an event', 60_000],
])('watches again without a pause if each watch has lasted until %s', async (_until, probeMs) => {
  const { awaitWatch, cluster, watches, changes } = await follow({ timing: { probeMs, backoffMs: [20, 1e9] } });
  const countProbes = () => cluster.faults.requests.filter(({ query }) => query.has('limit')).length;
  // As a load balancer that cuts connections before the first bookmark. Without a reset, the last pause would take at
  // least 10 minutes, which is longer than any test.
  for (let cut = 0; cut < 17; cut += 1) {
    await awaitWatch();
    const before = countProbes();
    if (probeMs > 5) {
      setConfig(cluster, 'a', `rendered-${cut}-x`);
      await expect.poll(() => changes, { interval: 5 }).toHaveLength(cut + 2);
    } else await expect.poll(countProbes, { interval: 5 }).toBeGreaterThan(before + 1);
    for (const watch of watches) watch.end();
  }
  await awaitWatch();
});
