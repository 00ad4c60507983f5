import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { limitSignal, NEVER_ABORTED as NO_DEADLINE, sleep, waitOrAbort } from '../../src/common/wait.ts';
import { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { listResource } from '../../src/kube/lists/list.ts';
import { RELISTS } from '../../src/kube/reflector.ts';
import { NODES as NODE_RESOURCE } from '../../src/mco/resources.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import type { Fault } from '../support/faults.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import type { ClusterState } from '../../src/references/cluster-state.ts';

const CONFIG = toConfigName('rendered-worker-a');
const OTHER = 'rendered-worker-b';
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
const NODES = '/api/v1/nodes';
const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
const BUILDS = '/apis/machineconfiguration.openshift.io/v1/machineosbuilds';
const BREAKS: Fault = (response) => {
  response.writeHead(200, { 'content-length': 1_000 });
  response.write('{"kind":"NodeList"', () => response.destroy());
};

const ANSWERS = parse(readFileSync(new URL('list-answers.yaml', import.meta.url), 'utf8')) as readonly {
  readonly of: 'nodes' | 'pools';
  readonly answer: Fault | 'breaks';
  readonly lists: number;
  readonly problem: string;
  readonly discovery?: Fault;
}[];

/** By default the watches have seen no version. */
const seenVersions = new Map<string, string>();
let poolsAndBuilds: string | undefined;
const index = {
  newestVersion: (resource: string) => seenVersions.get(resource),
  formatPoolsAndBuilds: () => poolsAndBuilds,
};

let cluster: InMemoryCluster;
let reader: LiveReader;

beforeEach(() => {
  seenVersions.clear();
  poolsAndBuilds = undefined;
});

function fill() {
  cluster.create('nodes', { metadata: { name: 'w0' } });
  cluster.create('machineconfigpools', { metadata: { name: 'worker' } });
  setConfig('pool', OTHER);
}

function setConfig(referrer: 'node' | 'pool', config: string) {
  if (referrer === 'node') cluster.patch('nodes', 'w0', { metadata: { annotations: { [CURRENT_CONFIG]: config } } });
  else cluster.patch('machineconfigpools', 'worker', { spec: { configuration: { name: config } } });
}

function referencesIn({ references }: ClusterState) {
  return references.strong.references.map(({ kind, name, field }) => `${kind} ${name} ${field}`);
}

/** Answers late, with the state of the time of the request. Its delays pass with the fake timers. */
class SlowApi extends InProcessApi {
  /** Called after the answer was determined. The answer waits for it. */
  onList: (path: string, count: number) => Promise<void> | void = () => {};
  change = (_path: string, _count: number, answer: ApiResponse) => answer;
  readonly counts = new Map<string, number>();

  override async request(request: ApiRequest): Promise<ApiResponse> {
    const { path } = request;
    const count = (this.counts.get(path) ?? 0) + 1;
    this.counts.set(path, count);
    const answer = super.request(request);
    await this.onList(path, count);
    return this.change(path, count, await answer);
  }
}

/** Lets this many milliseconds of the fake timers pass, and everything happen that is due. */
async function advance(ms: number) {
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('with fake timers', () => {
  let api: SlowApi;

  beforeEach(() => {
    fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
    cluster = new InMemoryCluster();
    fill();
    api = new SlowApi(cluster);
    reader = new LiveReader({ api: api as unknown as KubeApi, index });
  });

  test.each([
    ['its pool hands to a node after the nodes', 'pool', NODES, 'node', 'Node w0 currentConfig'],
    ['a node hands back to its pool after the pools', 'node', POOLS, 'pool', 'MachineConfigPool worker spec'],
  ] as const)('finds a config that %s were listed', async (_case, before, listed, after, reference) => {
    setConfig(before, CONFIG);
    api.onList = (path, count) => {
      if (path !== listed || count > 1) return;
      setConfig(after, CONFIG);
      setConfig(before, OTHER);
    };
    const minutesOfAnswers = [2, 1];
    api.change = (_path, _count, answer) => {
      return { ...answer, headers: { date: new Date(60_000 * (minutesOfAnswers.shift() ?? 3)).toUTCString() } };
    };
    const state = await reader.read(CONFIG, NO_DEADLINE);
    expect(state).toMatchObject({ unreadable: [], readAt: new Date(60_000) });
    expect(referencesIn(state)).toEqual([reference]);
  });

  test.each([
    ['once if the watches know the present pools', 1, 'worker@1003 '],
    ['again if the watches know older pools', 2, 'worker@1002 '],
    ['once after the pools if the watches know none', 1, undefined],
  ])('lists the nodes %s', async (_case, count, known) => {
    poolsAndBuilds = known;
    expect(cluster.version).toBe(1_003);
    expect((await reader.read(CONFIG, NO_DEADLINE)).unreadable).toEqual([]);
    expect([api.counts.get(NODES), api.counts.get(POOLS)]).toEqual([count, known === undefined ? 2 : count]);
  });

  test('lists pools at the head of each list of nodes, and keeps those of the last one', async () => {
    const sent: string[] = [];
    const firstNodes = new PassThrough();
    let answerFirstPools = (): void => {};
    poolsAndBuilds = 'worker@1004 ';
    api.onList = async (path, count) => {
      sent.push(`${path === NODES ? 'nodes' : 'pools or builds'} ${count}`);
      if (path === POOLS && count === 1) await new Promise<void>((resolve) => (answerFirstPools = resolve));
    };
    api.change = (path, count, answer) =>
      path === NODES && count === 1 ? { ...answer, body: firstNodes as unknown as ApiResponse['body'] } : answer;
    const read = reader.read(CONFIG, NO_DEADLINE);
    await advance(0);
    expect(sent).toEqual(['nodes 1', 'pools or builds 1', 'pools or builds 1']);

    setConfig('pool', CONFIG);
    firstNodes.destroy();
    await advance(0);
    await advance(1_000);
    expect(sent.slice(3)).toEqual(['nodes 2']);
    answerFirstPools();
    expect(referencesIn(await read)).toEqual(['MachineConfigPool worker spec']);
    expect(sent.slice(4)).toEqual(['pools or builds 2', 'pools or builds 2']);
  });

  test('names the references as unreadable if pools change until the deadline, or if it has passed', async () => {
    const deadline = new AbortController();
    api.onList = (path, count) => {
      if (path !== POOLS) return;
      setConfig('pool', `rendered-${count}`);
      if (count === 5) deadline.abort();
    };
    const { unreadable } = await reader.read(CONFIG, deadline.signal);
    expect(unreadable).toContainEqual({ name: 'references', reason: 'they kept changing while they were read' });
    const late = { name: 'references', reason: 'the live read did not start in time' };
    expect((await reader.read(CONFIG, AbortSignal.abort())).unreadable).toEqual([late]);
  });

  test('does not join a read that has started, so a later write is found', async () => {
    const releases: (() => void)[] = [];
    api.onList = async (path, count) => {
      if (path === NODES && count === 1) await new Promise<void>((resolve) => releases.push(resolve));
    };
    const early = reader.read(CONFIG, NO_DEADLINE);
    await advance(0);
    setConfig('node', CONFIG);
    await reader.read(CONFIG, AbortSignal.abort());
    const late = Array.from({ length: 20 }, async () => await reader.read(CONFIG, NO_DEADLINE));
    await advance(0);
    releases[0]?.();
    await early;
    await advance(100);
    for (const state of await Promise.all(late)) expect(referencesIn(state)).toEqual(['Node w0 currentConfig']);
    expect(reader.readCount).toBe(2);
  });

  test('returns the references of nodes, and names unreadable kinds in one order, in which none fails', async () => {
    setConfig('node', CONFIG);
    api.onList = async (path) => {
      if (path === POOLS) await advance(0);
      if (path !== NODES) throw new ApiError(403, 'Forbidden', 'forbidden');
    };
    const state = await reader.read(CONFIG, NO_DEADLINE);
    expect(state.unreadable.map(({ name }) => name)).toEqual(['machineconfigpools', 'machineosbuilds']);
    expect(referencesIn(state)).toEqual(['Node w0 currentConfig']);
  });

  test.each([
    [200, 10, 760],
    [1_500, 50, 3_800],
    [2_500, 100, 3_800],
  ])(
    'with lists of nodes that take %i ms, answers a review every %i ms within %i ms, from two at a time',
    async (ms, everyMs, deadlineMs) => {
      const counts = { open: 0, max: 0 };
      api.onList = async (path) => {
        if (path !== NODES) return;
        counts.open += 1;
        counts.max = Math.max(counts.max, counts.open);
        const { signal = NO_DEADLINE } = api.requests.findLast((request) => request.path === NODES) ?? {};
        await sleep(ms, signal);
        counts.open -= 1;
      };
      const reads: Promise<ClusterState>[] = [];
      for (let at = 0; at < 8_000 + deadlineMs; at += 10) {
        const { signal } = limitSignal(deadlineMs, NO_DEADLINE);
        if (at < 8_000 && at % everyMs === 0) reads.push(reader.read(CONFIG, signal));
        await advance(10);
      }
      const states = await Promise.all(reads);
      expect(states.filter(({ unreadable }) => unreadable.length > 0)).toEqual([]);
      expect(counts.max).toBeLessThanOrEqual(2);
      expect(reads).toHaveLength(8_000 / everyMs);
    },
  );

  test('takes the first of two reads to finish, and aborts a read when no review waits for it', async () => {
    const lists: { signal: AbortSignal; answer: () => void }[] = [];
    api.onList = async (path) => {
      const { signal } = api.requests.findLast((request) => request.path === NODES) ?? {};
      if (path === NODES && signal !== undefined)
        await waitOrAbort(new Promise<void>((answer) => lists.push({ signal, answer })), signal);
    };
    const first = reader.read(CONFIG, NO_DEADLINE);
    await advance(0);
    await advance(1_249);
    expect(lists).toHaveLength(1);
    await advance(1);
    // A second read beside the first one, which hangs.
    expect(lists).toHaveLength(2);
    const leaving = new AbortController();
    const late = reader.read(CONFIG, leaving.signal);
    await advance(10_000);
    expect(lists).toHaveLength(2);
    lists[1]?.answer();
    expect((await first).unreadable).toEqual([]);
    expect(lists[0]?.signal.aborted).toBe(true);
    await advance(0);
    // For the review that arrived after the second read had started.
    expect(lists).toHaveLength(3);
    leaving.abort();
    expect((await late).unreadable).toEqual([{ name: 'nodes', reason: 'no complete answer in time' }]);
    expect(lists[2]?.signal.aborted).toBe(true);
    await advance(10_000);
    expect(lists).toHaveLength(3);
  });
});

/** So many attempts come only from retries without an end. */
const ENDLESS = 8;

describe('over HTTPS', () => {
  let faults: TestCluster['faults'];
  let api: KubeApi;

  beforeEach(async () => {
    const testCluster = await startTestCluster();
    cluster = testCluster;
    ({ faults } = testCluster);
    fill();
    api = testCluster.connect();
    reader = new LiveReader({ api, index });
  });

  /** Reads while requests to a path have a fault, at most this many. Returns how many there were, too. */
  async function readWithFault(
    path: string,
    fault: Fault,
    elsewhere: (path: string) => Fault = () => 'pass',
    maxAttempts = 3,
  ) {
    const deadline = new AbortController();
    let attempts = 0;
    const clear = faults.intercept((request) => {
      if (request.path !== path) return elsewhere(request.path);
      if ((attempts += 1) === maxAttempts) deadline.abort();
      return fault;
    });
    const { unreadable } = await reader.read(CONFIG, deadline.signal);
    clear();
    return { unreadable, attempts };
  }

  test('answers although a connection of a live read and a list for the index hang', async () => {
    let lists = 0;
    faults.intercept(({ path }) => (path === NODES && (lists += 1) <= 2 ? 'hang' : 'pass'));
    const stop = new AbortController();
    const relist = listResource(api, NODE_RESOURCE, () => {}, stop.signal, { purpose: RELISTS });
    await expect.poll(() => lists).toBe(1);
    const { unreadable } = await reader.read(CONFIG, NO_DEADLINE);
    expect({ unreadable, lists }).toEqual({ unreadable: [], lists: 3 });
    stop.abort();
    await expect(relist).rejects.toThrow('aborted');
  });

  test('sends uncompressed lists without parameters, of pools and builds before and after nodes', async () => {
    await reader.read(CONFIG, NO_DEADLINE);
    const lists = faults.requests.map(({ path, query }) => `${path}?${query.toString()}`);
    expect(new Set(lists)).toEqual(new Set([NODES, POOLS, BUILDS].map((path) => `${path}?`)));
    // A busy machine can start another read after these.
    const around = new Set([POOLS, BUILDS].map((path) => `${path}?`));
    expect(new Set(lists.slice(0, 2))).toEqual(around);
    expect(lists[2]).toBe(`${NODES}?`);
    expect(new Set(lists.slice(3, 5))).toEqual(around);
    for (const { headers } of faults.requests) expect(headers).not.toHaveProperty('accept-encoding');
    const accept = faults.requests.find(({ path }) => path === NODES)?.headers.accept;
    expect(accept).toContain('as=PartialObjectMetadataList;g=meta.k8s.io;v=v1');
  });

  test.each(ANSWERS)('lists $lists times if the list of $of is answered with $answer', async (row) => {
    const { of: kind, answer, lists, problem, discovery = 'pass' } = row;
    const [path, name] = kind === 'nodes' ? [NODES, 'nodes'] : [POOLS, 'machineconfigpools'];
    const answerOthers = (other: string) => ([NODES, BUILDS].includes(other) ? 'pass' : discovery);
    const fault = answer === 'breaks' ? BREAKS : answer;
    const { unreadable, attempts } = await readWithFault(path, fault, answerOthers, ENDLESS);
    expect(unreadable).toContainEqual({
      name,
      reason: expect.stringContaining(problem) as string,
      isForbidden: problem.includes('answered 403'),
    });
    // On a busy machine, silence causes some more.
    expect(attempts === ENDLESS).toBe(lists === 3);
  });

  test.each([
    ['nodes', NODES],
    ['machineconfigpools', POOLS],
  ])('lists %s again until their version is not older than one seen before', async (name, path) => {
    const listed = (cluster as TestCluster).resourceVersion;
    seenVersions.set(name, String(listed + 1));
    const { unreadable, attempts } = await readWithFault(path, 'pass');
    const reason = `the list has version ${listed}, but ${listed + 1} was seen before`;
    expect(unreadable).toContainEqual({ name, reason, isForbidden: false });
    expect(attempts).toBe(3);
    // The watches found that the versions went back. Versions that are not numbers cannot be compared.
    for (const version of [String(listed), 'a-version']) {
      seenVersions.set(name, version);
      expect((await reader.read(CONFIG, NO_DEADLINE)).unreadable).toEqual([]);
    }
  });

  test('waits for Retry-After', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timer.mockRestore());
    let requests = 0;
    faults.intercept(({ path }) => {
      if (path !== POOLS) return 'pass';
      requests += 1;
      return requests === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 'pass';
    });
    expect((await reader.read(CONFIG, NO_DEADLINE)).unreadable).toEqual([]);
    expect(timer.mock.calls.filter(([, ms]) => ms === 1_000)).toHaveLength(1);
  });
});
