import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import request from 'supertest';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ServingCertificate } from '../../src/certificates/key-pair.ts';
import { Replaceable } from '../../src/common/replaceable.ts';
import { type GuardOptions, runGuard, startGuard } from '../../src/guard/guard.ts';
import { buildWebhookConfiguration } from '../../src/install/registration.ts';
import { INTERMEDIATE, type TlsParameters } from '../../src/serving/tls-profile.ts';
import type { Fault } from '../support/faults.ts';
import { memoryLog } from '../support/log.ts';
import { reviewBody } from '../support/review.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { testTls } from '../support/tls.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';
import { INSTALLED_NAME } from '../../src/api/paths.ts';

const USED = `rendered-worker-${'a'.repeat(32)}`;
const UNUSED = `rendered-worker-${'b'.repeat(32)}`;
const NODE = '/api/v1/nodes/worker-0';
const MCO = 'machineconfiguration.openshift.io';

type PassedOptions = Pick<GuardOptions, 'settings' | 'shutdownDelayMs' | 'metricsPort' | 'status' | 'tlsPolicy'>;

interface StartOptions extends Partial<PassedOptions> {
  readonly isUnreadable?: boolean;
  readonly prepare?: (cluster: TestCluster) => void;
}

/** Starts a guard, and waits until it is ready. If nodes are unreadable, it never is. */
async function startGuardedCluster(startOptions: StartOptions = {}) {
  const { isUnreadable = false, shutdownDelayMs = 0, prepare = () => {}, ...options } = startOptions;
  const cluster = await startTestCluster();
  prepare(cluster);
  const creationTimestamp = '2026-01-01T00:00:00Z';
  for (const name of [USED, UNUSED]) cluster.create('machineconfigs', { metadata: { name, creationTimestamp } });
  cluster.create('nodes', toNode({ currentConfig: USED }));
  if (isUnreadable) cluster.faults.intercept(({ path }) => (path === '/api/v1/nodes' ? 'reset' : 'pass'));
  const tls = await testTls();
  const guard = await startGuard({
    api: cluster.connect(),
    certificate: new ServingCertificate(await tls.leaf()),
    log: memoryLog().log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs,
    ...options,
  });
  onTestFinished(async () => await guard.stop());
  const url = `https://127.0.0.1:${guard.ports.securePort}/validate`;
  const caBundle = Buffer.from(tls.ca).toString('base64');
  const webhook = buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', webhook);
  if (!isUnreadable) await guard.whenReady(new AbortController().signal);
  const readyz = async (path = '/readyz') => {
    const response = await fetch(`http://127.0.0.1:${guard.ports.healthPort}${path}`);
    return `${response.status} ${(await response.text()).trim()}`;
  };
  const countNodeLists = () => {
    const lists = cluster.faults.requests.filter(({ path, isWatch }) => path === '/api/v1/nodes' && !isWatch);
    return lists.filter(({ query }) => !query.has('limit')).length;
  };
  const startUp = countNodeLists();
  /** Deletes a config. Returns the status and the code or the message of the answer. */
  const remove = async (name: string) => {
    const { status, body } = await cluster.delete('machineconfigs', name);
    return `${status} ${JSON.stringify(body)}`;
  };
  return { cluster, guard, readyz, remove, countLiveLists: () => countNodeLists() - startUp };
}

function toNode(configs: Readonly<Record<string, string>>) {
  const annotations = Object.fromEntries(Object.entries(configs).map(([field, name]) => [`${MCO}/${field}`, name]));
  return { metadata: { name: 'worker-0', annotations } };
}

/** Metadata of nodes, as the API server lists them. */
function toNodeList(resourceVersion: string) {
  const group = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };
  const items = [{ ...group, ...toNode({ currentConfig: USED }) }];
  return { ...group, kind: 'PartialObjectMetadataList', metadata: { resourceVersion }, items };
}

/** Intercepts the first list of all nodes. */
function interceptNodeList(cluster: TestCluster, fault: Fault): void {
  const remove = cluster.faults.intercept(({ path, isWatch, query }) => {
    if (path !== '/api/v1/nodes' || isWatch || query.has('limit')) return 'pass';
    remove();
    return fault;
  });
}

test('is unready and denies as unverified until its first complete read, and stays ready in an outage', async () => {
  const { cluster, readyz, remove } = await startGuardedCluster({ isUnreadable: true });
  await expect.poll(() => readyz()).toBe('503 not listed yet: nodes');
  expect(await readyz('/healthz')).toBe('200 ok');
  await expect.poll(() => remove(UNUSED)).toMatch(/^503 .*MCG_UNVERIFIED/);
  cluster.faults.clear();
  await expect.poll(() => readyz()).toBe('200 ok');
  expect((await cluster.delete('machineconfigs', UNUSED)).status).toBe(200);

  let resetCount = 0;
  cluster.faults.intercept(({ path }) => {
    if (!path.startsWith('/api')) return 'pass';
    resetCount += 1;
    return 'reset';
  });
  cluster.faults.cutConnections();
  await expect.poll(() => resetCount).toBeGreaterThan(3);
  expect(await readyz()).toBe('200 ok');
});

test.each<[string, (cluster: TestCluster) => void, string]>([
  [
    'a build has a reference that is no text',
    (cluster) => cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: 7 } } }),
    'machineosbuilds: spec.machineConfig.name of build b is not a string',
  ],
  [
    'pools have an unknown version',
    (cluster) => cluster.serve('machineconfigpools', ['v2']),
    'machineconfigpools: the cluster serves machineconfigpools only as v2, which this guard cannot read',
  ],
])('is ready although %s, and denies what is not overridden', async (_case, prepare, problem) => {
  const { cluster, readyz, remove } = await startGuardedCluster({ prepare });
  expect(await readyz()).toBe('200 ok');
  expect(await remove(UNUSED)).toContain(`MCG_UNVERIFIED: could not verify whether ${UNUSED} is in use (${problem})`);
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'ticket 7' };
  cluster.patch('machineconfigs', UNUSED, { metadata: { annotations } });
  expect(await remove(UNUSED)).toMatch(/^200/);
});

test('a stop ends within 21 s, although an answer, an Event, a scrape and the Lease wait for ever', async () => {
  const { cluster, guard, readyz } = await startGuardedCluster({
    shutdownDelayMs: 5_000,
    metricsPort: 0,
    status: { leaseNamespace: 'ns', leaseHolder: 'this' },
  });
  const { securePort, metricsPort } = guard.ports;
  const readHolder = () => cluster.get('leases', 'machineconfig-guard', 'ns')?.['spec'];
  await expect.poll(readHolder).toMatchObject({ holderIdentity: 'this' });
  const hung = new Set<string>();
  cluster.faults.intercept(({ path, isWatch }) => {
    const part = ['events', 'tokenreviews', 'leases', 'v1/nodes'].find((name) => `${path}/`.includes(`${name}/`));
    if (part === undefined || isWatch || path === NODE) return 'pass';
    hung.add(part);
    return 'hang';
  });
  const { ca } = await testTls();
  const send = (port: number | undefined, line: string, body = '') => {
    const socket = tlsConnect({ host: '127.0.0.1', port: Number(port), ca }).on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(`${line}\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
  fakeUntilEnd('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance');
  /** A poll would let time pass. */
  const awaitHanging = async (part: string) => {
    while (!hung.has(part)) await nextTurn();
  };
  /** A step has 100 ms. */
  const stop = { isEnded: false, steps: 50 };
  void guard.stop().then(() => (stop.isEnded = true));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(await readyz()).toBe('503 stopping');
  const { metadata } = cluster.get('machineconfigs', UNUSED) ?? {};
  const review = JSON.stringify(reviewBody({ name: UNUSED, oldObject: { metadata } }));
  // One is denied, with an Event, just before the others are given up.
  for (const timeout of ['13100ms', '30s'])
    send(securePort, `POST /validate?timeout=${timeout} HTTP/1.1\r\nContent-Type: application/json`, review);
  await awaitHanging('v1/nodes');
  for (; !stop.isEnded && stop.steps < 600; stop.steps += 1) {
    await vi.advanceTimersByTimeAsync(100);
    if (!hung.has('leases') || hung.has('tokenreviews')) continue;
    send(metricsPort, 'GET /metrics HTTP/1.1\r\nAuthorization: Bearer t');
    await awaitHanging('tokenreviews');
  }
  expect(hung).toEqual(new Set(['v1/nodes', 'events', 'leases', 'tokenreviews']));
  // The shutdown delay, and the bounds of open answers, Events, the Lease and scrapes. The kubelet waits for 30 s.
  expect(stop.steps).toBeLessThan(50 + 100 + 20 + 30 + 10 + 2);
});

test('serves the webhook and the metrics with a new TLS profile', async () => {
  const tlsPolicy = new Replaceable<TlsParameters>(INTERMEDIATE);
  const { guard } = await startGuardedCluster({ metricsPort: 0, tlsPolicy });
  tlsPolicy.replace({ ...INTERMEDIATE, minVersion: 'TLSv1.3' });
  for (const port of [guard.ports.securePort, guard.ports.metricsPort]) {
    const { ca } = await testTls();
    const socket = tlsConnect({ host: '127.0.0.1', port: Number(port), ca, maxVersion: 'TLSv1.2' });
    await expect(once(socket, 'secureConnect')).rejects.toThrow('alert protocol version');
  }
});

test('runs with the settings, the TLS profile and the Lease of the cluster until it is stopped', async () => {
  const cluster = await startTestCluster();
  const tlsSecurityProfile = { type: 'Modern', modern: {} };
  cluster.create('apiservers', { metadata: { name: 'cluster' }, spec: { tlsSecurityProfile } });
  cluster.faults.intercept(({ path }) => (path.endsWith('machineconfigguards/cluster') ? { status: 500 } : 'pass'));
  const { log, lines, messages } = memoryLog();
  const { leaf } = await testTls();
  const initialSpec = { mode: 'Audit' } as const;
  const options = {
    api: cluster.connect(),
    log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
    loadCertificate: async () => new ServingCertificate(await leaf()),
    initialSpec,
    leaseNamespace: undefined,
  };
  const end = runUntilEnd(async (signal) => await runGuard(options, once(signal, 'abort')));
  const findPorts = (msg: string) => lines.find((line) => line['msg'] === msg) ?? {};
  const readyz = async () => await fetch(`http://127.0.0.1:${String(findPorts('listening')['healthPort'])}/readyz`);
  const why = async () => await readyz().then(async (response) => (await response.text()).trim(), String);
  await expect.poll(why).toBe('machineconfigguard not read yet');
  cluster.faults.clear();
  await expect.poll(messages).toContain('ready');
  const readHolder = () => cluster.get('leases', INSTALLED_NAME, INSTALLED_NAME)?.['spec'];
  await expect.poll(readHolder).toMatchObject({ holderIdentity: expect.stringContaining(`${hostname()}_`) });
  const readGuard = () => cluster.get('machineconfigguards', 'cluster');
  await expect.poll(readGuard).toMatchObject({ spec: initialSpec });
  await expect.poll(() => JSON.stringify(readGuard()?.['status'])).toContain('Modern');
  // A stop waits 10 s for a connection that is open, and the settings apply until the last answer.
  const socket = connect(Number(findPorts('ready')['securePort']), '127.0.0.1');
  await once(socket, 'connect');
  const ended = end();
  cluster.patch('machineconfigguards', 'cluster', { spec: { mode: 'Warn' } });
  await expect.poll(messages).toContain('mode is Warn');
  socket.destroy();
  await ended;
  expect(await why()).toContain('fetch failed');
  expect(messages().join('\n')).not.toContain('cannot watch');
});

test('a stop waits for the last Event', async () => {
  const { cluster, guard, remove } = await startGuardedCluster();
  const { securePort } = guard.ports;
  const sent = new Promise<ServerResponse>((resolve) => {
    cluster.faults.intercept(({ path }) => (path.endsWith('/events') ? resolve : 'pass'));
  });
  expect(await remove(USED)).toMatch(/^403/);
  const response = await sent;
  let isAnswered = false;
  const stopped = guard.stop().then(() => isAnswered);
  const isClosed = async () => {
    const socket = connect(securePort, '127.0.0.1');
    const connected = await once(socket, 'connect').then(Boolean, () => false);
    // A stop waits 10 s for a connection that is open.
    socket.destroy();
    return !connected;
  };
  await expect.poll(isClosed).toBe(true);
  // A guard that does not wait ends now.
  await expect(Promise.race([stopped, sleep(300)])).resolves.toBeUndefined();
  isAnswered = true;
  response.writeHead(201).end('{}');
  expect(await stopped).toBe(true);
});

// The following tests fail if a part of the guard gets something else than production's parts and limits.

test('lists again if a list is older than what the watches had delivered before it', async () => {
  const { cluster, remove, countLiveLists } = await startGuardedCluster();
  interceptNodeList(cluster, { status: 200, body: toNodeList('1') });
  expect(await remove(UNUSED)).toMatch(/^200/);
  expect(countLiveLists()).toBe(2);
});

test('accepts a list that is older than what the watches have delivered since its request', async () => {
  const { cluster, remove, countLiveLists } = await startGuardedCluster();
  // Otherwise a slow machine reaches the deadline of the review.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const version = String(cluster.resourceVersion);
  const sent = new Promise<ServerResponse>((resolve) => interceptNodeList(cluster, resolve));
  const removed = remove(UNUSED);
  const response = await sent;
  const other = UNUSED.replaceAll('b', 'c');
  cluster.create('machineconfigs', { metadata: { name: other } });
  cluster.patch('nodes', 'worker-0', toNode({ currentConfig: USED, desiredConfig: other }));
  // The watches have delivered both, because the guard denies without a list.
  await expect.poll(() => remove(other)).toMatch(/^403 .*MCG_IN_USE/);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(toNodeList(version)));
  expect(await removed).toMatch(/^200/);
  expect(countLiveLists()).toBe(1);
});

test('knows when configs were created, because nothing else dates a pool without managedFields', async () => {
  const { cluster, remove } = await startGuardedCluster();
  const configuration = { name: USED };
  cluster.create('machineconfigpools', {
    metadata: { name: 'worker' },
    spec: { configuration },
    status: { configuration },
  });
  expect(await remove(UNUSED)).toMatch(/^200/);
});

test('holds a config that its pool has just named, as its watch has seen', async () => {
  const { cluster, remove } = await startGuardedCluster();
  // Without its memory, the guard would hold the config until two hours from now.
  const conditions = [{ type: 'Updated', lastTransitionTime: '2126-01-01T00:00:00Z' }];
  const toPool = (name: string) => ({
    metadata: { name: 'worker' },
    spec: { configuration: { name } },
    status: { conditions },
  });
  cluster.create('machineconfigpools', toPool(UNUSED));
  await expect.poll(() => remove(UNUSED)).toMatch(/^403 .*MCG_IN_USE/);
  cluster.patch('machineconfigpools', 'worker', toPool(USED));
  await expect.poll(() => remove(UNUSED)).toMatch(/MCG_HELD: .*pool worker last named it at/);
});

test('lists all nodes if the referrer does not answer within 1,250 ms', async () => {
  const { cluster, remove, countLiveLists } = await startGuardedCluster();
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  const isSeen = new Promise((resolve) => {
    cluster.faults.intercept(({ path }) => (path === NODE ? (resolve(undefined), 'hang') : 'pass'));
  });
  const removed = remove(USED);
  await isSeen;
  await vi.advanceTimersByTimeAsync(1_249);
  expect(countLiveLists()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(await removed).toMatch(/^403 .*MCG_IN_USE/);
  expect(countLiveLists()).toBe(1);
});

test('names the reference that a GET has confirmed, and not what the watch delivered before', async () => {
  const { cluster, remove } = await startGuardedCluster();
  const object = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', ...toNode({ desiredConfig: USED }) };
  cluster.faults.intercept(({ path }) => (path === NODE ? { status: 200, body: object } : 'pass'));
  expect(await remove(USED)).toContain('node worker-0 (desiredConfig)');
});

test('puts a printable reason into the audit annotation of an override', async () => {
  const { cluster, guard } = await startGuardedCluster();
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7\u202e\nforged' };
  cluster.patch('machineconfigs', USED, { metadata: { annotations } });
  const { metadata } = cluster.get('machineconfigs', USED) ?? {};
  const body = reviewBody({ name: USED, oldObject: { metadata } });
  const { ca } = await testTls();
  const sent = request(`https://127.0.0.1:${guard.ports.securePort}`).post('/validate').ca(ca).send(body);
  const { response } = (await sent).body as { response: { auditAnnotations: { overridden: string } } };
  expect(JSON.parse(response.auditAnnotations.overridden)).toMatchObject({ reason: 'CHG-7 forged' });
});

test('keeps 500 connections and closes the oldest, and denies a body of more than 4 MiB', async () => {
  const { guard } = await startGuardedCluster();
  const { securePort } = guard.ports;
  const sockets = Array.from({ length: 500 }, () => connect(securePort, '127.0.0.1'));
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map(async (socket) => await once(socket, 'connect')));
  const { ca } = await testTls();
  const post = request(`https://127.0.0.1:${securePort}`).post('/validate').ca(ca);
  const { body } = await post.set('content-type', 'application/json').send(' '.repeat(4 * 1024 * 1024 + 1));
  expect(JSON.stringify(body)).toContain('the request body is larger than 4 MiB');
  expect(sockets.map(({ closed }) => closed)).toEqual([true, ...Array<boolean>(499).fill(false)]);
});
