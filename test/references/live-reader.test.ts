import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { type ClusterState, summarizeReferences } from '../../src/decision/references.ts';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import type { KnownVersions } from '../../src/references/live-read.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { encodeAnswer, encodeList } from '../kube/lists/protobuf-encoding.ts';
import { METADATA } from '../../src/kube/lists/json-list.ts';
import type { Fault } from '../support/faults.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const CONFIG = toConfigName('rendered-worker-a');
const OTHER = 'rendered-worker-b';
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
const NODES = '/api/v1/nodes';
const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
const BUILDS = '/apis/machineconfiguration.openshift.io/v1/machineosbuilds';
const FORBIDDEN: Fault = { status: 403, body: { kind: 'Status', reason: 'Because' } };
const NOT_SERVED: Fault = { status: 404, body: '404 page not found\n' };
const NODE_LIST = formatList({ apiVersion: 'v1', kind: 'NodeList' });
const METADATA_LIST = { apiVersion: METADATA.apiVersion, kind: `${METADATA.kind}List` };
const NO_NODES = 'the API server listed no nodes, but every cluster has one';

/** By default the watches have seen no version. */
const seenVersions = new Map<string, string>();
let versionChecks = 0;
const versions: KnownVersions = {
  newestVersion: (resource) => seenVersions.get(resource),
  checkVersions: () => {
    versionChecks += 1;
  },
};

beforeEach(() => {
  seenVersions.clear();
  versionChecks = 0;
});

function formatList(type: object, items: unknown = []) {
  return JSON.stringify({ ...type, metadata: { resourceVersion: '1' }, items });
}

/** Far more than any read takes, even on a slow machine. */
function longDeadline() {
  return new AbortController().signal;
}

function noDeadline() {
  return new AbortController().signal;
}

function fill(cluster: InMemoryCluster) {
  cluster.create('nodes', { metadata: { name: 'w0' } });
  cluster.create('machineconfigpools', { metadata: { name: 'worker' } });
  setConfig(cluster, 'pool', OTHER);
}

function setConfig(cluster: InMemoryCluster, referrer: 'node' | 'pool', config: string) {
  if (referrer === 'node') cluster.patch('nodes', 'w0', { metadata: { annotations: { [CURRENT_CONFIG]: config } } });
  else cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: config } } });
}

function referencesIn({ referrers }: ClusterState) {
  const { references } = summarizeReferences(CONFIG, referrers).strong;
  return references.map(({ kind, name, field }) => `${kind} ${name} ${field}`);
}

describe('over HTTPS', () => {
  let cluster: TestCluster;
  let reader: LiveReader;

  beforeEach(async () => {
    cluster = await startTestCluster();
    fill(cluster);
    reader = new LiveReader({ api: cluster.connect(), versions });
  });

  function intercept(path: string, fault: Fault) {
    cluster.faults.intercept((request) => (request.path === path ? fault : 'pass'));
  }

  /** Reads until the third request to a path, and returns what is unreadable. Fails if fewer are sent. */
  async function readUntilThird(counted: string, faultOf: (path: string) => Fault) {
    const deadline = new AbortController();
    let attempts = 0;
    const clear = cluster.faults.intercept(({ path }) => {
      if (path === counted) attempts += 1;
      if (attempts === 3) deadline.abort();
      return faultOf(path);
    });
    const { unreadable } = await reader.read(deadline.signal);
    clear();
    expect(attempts).toBe(3);
    return unreadable;
  }

  test('sends uncompressed lists without parameters, of pools and builds before and after nodes', async () => {
    await reader.read(longDeadline());
    const lists = cluster.faults.requests.map(({ path, query }) => `${path}?${query.toString()}`);
    expect(new Set(lists)).toEqual(new Set([NODES, POOLS, BUILDS].map((path) => `${path}?`)));
    for (const path of [POOLS, BUILDS]) {
      expect(lists.indexOf(`${path}?`)).toBeLessThan(lists.lastIndexOf(`${NODES}?`));
      expect(lists.lastIndexOf(`${path}?`)).toBeGreaterThan(lists.lastIndexOf(`${NODES}?`));
    }
    for (const { headers } of cluster.faults.requests) expect(headers).not.toHaveProperty('accept-encoding');
    const accept = cluster.faults.requests.find(({ path }) => path === NODES)?.headers.accept;
    expect(accept).toContain('as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
  });

  test.each<[string, Fault, string]>([
    ['403', FORBIDDEN, 'the API server answered 403 Because'],
    ['404', NOT_SERVED, 'the API server answered 404'],
    ['a nameless node', { status: 200, body: NODE_LIST.replace('[]', '[{"metadata":{}}]') }, 'a Node has no name'],
  ])('names nodes as unreadable, without a retry, if their list is answered with %s', async (_title, fault, reason) => {
    intercept(NODES, fault);
    const { unreadable } = await reader.read(longDeadline());
    expect(unreadable).toEqual([{ name: 'nodes', reason }]);
    expect(cluster.faults.requests.filter(({ path }) => path === NODES)).toHaveLength(1);
  });

  test.each<[string, Fault, string | RegExp]>([
    ['500', { ...FORBIDDEN, status: 500 }, 'the API server answered 500 Because'],
    ['a reset', 'reset', /cannot be reached: ECONNRESET$/],
    [
      'a list that breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': NODE_LIST.length });
        response.write(NODE_LIST.slice(0, 20), () => response.destroy());
      },
      /the response is incomplete: ECONNRESET/,
    ],
    ['a login page', { status: 200, body: '<html>' }, 'the list is incomplete or not JSON'],
    ['no nodes', { status: 200, body: NODE_LIST }, NO_NODES],
    ['null', { status: 200, body: formatList(METADATA_LIST, null) }, NO_NODES],
    [
      'a list of pods',
      {
        status: 200,
        body: formatList({ apiVersion: 'v1', kind: 'PodList' }, [{ metadata: { name: 'p' } }]),
      },
      'the response is not a NodeList or PartialObjectMetadataList',
    ],
    [
      'the metadata of objects in namespaces',
      {
        status: 200,
        body: formatList(METADATA_LIST, [{ ...METADATA, metadata: { name: 'p', namespace: 'n' } }]),
      },
      'an item of the list has a namespace, unlike a Node',
    ],
  ])('retries until the deadline if the list of nodes is answered with %s', async (_title, fault, reason) => {
    const unreadable = await readUntilThird(NODES, (path) => (path === NODES ? fault : 'pass'));
    expect(unreadable).toContainEqual({
      name: 'nodes',
      reason: reason instanceof RegExp ? expect.stringMatching(reason) : reason,
    });
  });

  test.each([
    ['only their metadata', METADATA_LIST],
    ['nodes', { apiVersion: 'v1', kind: 'NodeList' }],
  ])('retries until the deadline if the list of pools is answered with %s', async (_title, type) => {
    const unreadable = await readUntilThird(POOLS, (path) =>
      path === POOLS ? { status: 200, body: formatList(type) } : 'pass',
    );
    expect(unreadable).toContainEqual({
      name: 'machineconfigpools',
      reason: 'the response is not a MachineConfigPoolList',
    });
  });

  test.each([
    ['nodes', NODES],
    ['machineconfigpools', POOLS],
  ])('lists %s again until their version is not older than one seen before', async (name, path) => {
    const listed = cluster.resourceVersion;
    seenVersions.set(name, String(listed + 1));
    const unreadable = await readUntilThird(path, () => 'pass');
    const reason = `the list has version ${listed}, but ${listed + 1} was seen before`;
    expect(unreadable).toContainEqual({ name, reason });
    expect(versionChecks).toBeGreaterThan(0);

    // The watches found that the versions went back.
    seenVersions.set(name, String(listed));
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
  });

  test('accepts versions that are not numbers', async () => {
    seenVersions.set('nodes', 'a-version');
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
  });

  test('retries a 404 for pools that discovery lists', async () => {
    const unreadable = await readUntilThird(POOLS, (path) => (path === POOLS ? NOT_SERVED : 'pass'));
    expect(unreadable).toContainEqual({
      name: 'machineconfigpools',
      reason: 'listing machineconfigpools returned 404 although discovery serves the resource',
    });
  });

  test.each<[string, Fault, number]>([
    ['answers 404', NOT_SERVED, 1],
    ['answers with a page', { status: 200, body: { kind: 'Page' } }, 3],
    ['refuses', FORBIDDEN, 1],
  ])('does not take a 404 for an absent kind if discovery %s', async (_title, discovery, lists) => {
    const deadline = new AbortController();
    let attempts = 0;
    cluster.faults.intercept(({ path }) => {
      if (path === NODES) return 'pass';
      if (path === POOLS) attempts += 1;
      if (attempts === 3) deadline.abort();
      return [POOLS, BUILDS].includes(path) ? NOT_SERVED : discovery;
    });
    const { unreadable } = await reader.read(deadline.signal);
    const names = unreadable.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['machineconfigpools', 'machineosbuilds']));
    expect(attempts).toBe(lists);
  });

  test('returns the references of one kind if another is unreadable', async () => {
    setConfig(cluster, 'node', CONFIG);
    intercept(POOLS, FORBIDDEN);
    const state = await reader.read(longDeadline());
    expect(referencesIn(state)).toEqual(['Node w0 currentConfig']);
    expect(state.unreadable).toHaveLength(1);
  });

  test('names unreadable kinds in one order, even if nodes fail last', async () => {
    intercept(POOLS, FORBIDDEN);
    let answerNodes = () => {};
    intercept(NODES, (response) => void (answerNodes = () => response.writeHead(403).end()));
    const reading = reader.read(longDeadline());
    await expect.poll(() => cluster.faults.requests.some(({ path }) => path === NODES)).toBe(true);
    answerNodes();
    const { unreadable } = await reading;
    expect(unreadable.map(({ name }) => name)).toEqual(['nodes', 'machineconfigpools']);
  });

  test('omits the nodes that the operator does not manage', async () => {
    const nodeSelector = { matchLabels: { role: 'worker' } };
    cluster.patch('machineconfigpools', 'worker', { spec: { nodeSelector } });
    const labels = { role: 'worker' };
    cluster.create('nodes', { metadata: { name: 'fresh', labels } });
    const windows = { ...labels, 'kubernetes.io/os': 'windows' };
    cluster.create('nodes', { metadata: { name: 'windows', labels: windows } });
    const { referrers } = await reader.read(longDeadline());
    // No pool selects w0.
    expect(referrers.map(({ name }) => name)).toEqual(['worker', 'fresh']);
    setConfig(cluster, 'node', CONFIG);
    expect(referencesIn(await reader.read(longDeadline()))).toEqual(['Node w0 currentConfig']);
  });

  test('waits for Retry-After', async () => {
    const times: number[] = [];
    cluster.faults.intercept(({ path }) => {
      if (path !== POOLS) return 'pass';
      times.push(performance.now());
      return times.length === 1 ? { status: 429, headers: { 'retry-after': '1' }, body: { kind: 'Status' } } : 'pass';
    });
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
  });

  test('recovers if an idle connection was closed, and if its token was replaced', async () => {
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
    cluster.faults.cutConnections();
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
    cluster.faults.revokeTokens();
    expect((await reader.read(longDeadline())).unreadable).toEqual([]);
  });

  test('lists builds that are only served as v1alpha1', async () => {
    cluster.serve('machineosbuilds', ['v1alpha1']);
    const spec = { desiredConfig: { name: CONFIG } };
    cluster.create('machineosbuilds', { metadata: { name: 'b0' }, spec });
    expect(referencesIn(await reader.read(longDeadline()))).toEqual(['MachineOSBuild b0 desiredConfig']);
  });
});

/** Answers late, with the state of the time of the request. Its delays pass with the fake timers. */
class SlowApi extends InProcessApi {
  /** Called after the answer was determined. */
  onList: (path: string, count: number) => void = () => {};
  delay: (path: string, count: number) => Promise<void> = async () => {};
  readonly #counts = new Map<string, number>();

  override async request(request: ApiRequest): Promise<ApiResponse> {
    const { path } = request;
    const count = (this.#counts.get(path) ?? 0) + 1;
    this.#counts.set(path, count);
    const answer = super.request(request);
    this.onList(path, count);
    await this.delay(path, count);
    return await answer;
  }

  countLists(path: string) {
    return this.#counts.get(path) ?? 0;
  }
}

/** Lets this many milliseconds of the fake timers pass, and everything happen that is due. */
async function advance(ms: number) {
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('with fake timers', () => {
  let cluster: InMemoryCluster;
  let api: SlowApi;
  let reader: LiveReader;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    cluster = new InMemoryCluster();
    fill(cluster);
    api = new SlowApi(cluster);
    reader = new LiveReader({ api: api as unknown as KubeApi, versions });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('finds a config that its pool hands to a node after the nodes were listed', async () => {
    setConfig(cluster, 'pool', CONFIG);
    api.onList = (path, count) => {
      if (path !== NODES || count > 1) return;
      setConfig(cluster, 'node', CONFIG);
      setConfig(cluster, 'pool', OTHER);
    };
    const state = await reader.read(noDeadline());
    expect(state.unreadable).toEqual([]);
    expect(referencesIn(state)).toEqual(['Node w0 currentConfig']);
  });

  test('finds a config that a node hands back to its pool after the pools were listed', async () => {
    setConfig(cluster, 'node', CONFIG);
    api.onList = (path, count) => {
      if (path !== POOLS || count > 1) return;
      setConfig(cluster, 'pool', CONFIG);
      setConfig(cluster, 'node', OTHER);
    };
    expect(referencesIn(await reader.read(noDeadline()))).toEqual(['MachineConfigPool worker spec']);
  });

  test('names the references as unreadable if pools change until the deadline', async () => {
    const deadline = new AbortController();
    api.onList = (path, count) => {
      if (path !== POOLS) return;
      setConfig(cluster, 'pool', `rendered-${count}`);
      if (count === 5) deadline.abort();
    };
    expect((await reader.read(deadline.signal)).unreadable).toContainEqual({
      name: 'references',
      reason: 'they kept changing while they were read',
    });
  });

  test('says that the read did not start if the deadline passes before', async () => {
    expect((await reader.read(AbortSignal.abort())).unreadable).toEqual([
      { name: 'references', reason: 'the live read did not start in time' },
    ]);
  });

  test('waits at most 1.5 s for a batch that never ends', async () => {
    for (let ms = 0; ms < 1_600; ms += 10) {
      for (let review = 0; review < 20; review += 1) void reader.read(noDeadline());
      await advance(10);
      if (ms < 1_400) expect(reader.readCount).toBe(0);
    }
    expect(reader.readCount).toBe(1);
  });

  test('lets other work run between two reviews that share a read', async () => {
    let turn = 0;
    const countTurn = () => {
      turn += 1;
      timer = setImmediate(countTurn);
    };
    let timer = setImmediate(countTurn);
    const turns: number[] = [];
    const reads = Array.from({ length: 30 }, async () => {
      await reader.read(noDeadline());
      turns.push(turn);
    });
    while (turns.length < reads.length) await advance(100);
    clearImmediate(timer);
    expect(new Set(turns).size).toBe(reads.length);
    expect(reader.readCount).toBe(1);
  });

  test('does not join a read that has started, so a later write is found', async () => {
    const releases: (() => void)[] = [];
    api.delay = async (path, count) => {
      if (path === NODES && count === 1) await new Promise<void>((resolve) => releases.push(resolve));
    };
    const early = reader.read(noDeadline());
    await advance(0);
    setConfig(cluster, 'node', CONFIG);
    const late = Array.from({ length: 20 }, async () => await reader.read(noDeadline()));
    await advance(0);
    releases[0]?.();
    await early;
    await advance(100);
    for (const state of await Promise.all(late)) expect(referencesIn(state)).toEqual(['Node w0 currentConfig']);
    expect(reader.readCount).toBe(2);
  });

  test('starts the next read beside one that is silent for 1 s, which aborts at its deadline', async () => {
    let hung: AbortSignal | undefined;
    api.delay = async (path, count) => {
      if (path !== NODES || count > 1) return;
      hung = api.requests.findLast((request) => request.path === NODES)?.signal;
      await new Promise(() => {});
    };
    const deadline = new AbortController();
    const stuck = reader.read(deadline.signal);
    await advance(0);
    const next = reader.read(noDeadline());
    await advance(999);
    expect(api.countLists(NODES)).toBe(1);
    await advance(1);
    expect((await next).unreadable).toEqual([]);
    expect(hung?.aborted).toBe(false);
    deadline.abort();
    expect((await stuck).unreadable).toEqual([{ name: 'nodes', reason: 'no complete answer in time' }]);
    expect(hung?.aborted).toBe(true);
  });

  test('does not start the next read beside one that is slow but receives nodes', async () => {
    const body = new PassThrough() as unknown as ApiResponse['body'] & PassThrough;
    const nodes = Array.from({ length: 8 }, (_, index) => ({ name: `w${index}` }));
    const list = encodeAnswer(encodeList({ resourceVersion: '1', items: nodes }));
    const request = api.request.bind(api);
    const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    api.request = async (options) => {
      const answer = await request(options);
      return options.path === NODES && api.countLists(NODES) === 1 ? { ...answer, headers, body } : answer;
    };
    const early = reader.read(noDeadline());
    await advance(0);
    const late = reader.read(noDeadline());
    for (let at = 0; at < list.length; at += 25) {
      body.write(list.subarray(at, at + 25));
      await advance(300);
    }
    expect(api.countLists(NODES)).toBe(1);
    body.end();
    expect((await early).unreadable).toEqual([]);
    expect((await late).unreadable).toEqual([]);
    expect(reader.readCount).toBe(2);
  });
});
