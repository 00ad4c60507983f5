import { LRUCache } from 'lru-cache';
import { beforeEach, expect, test, vi, type Mock } from 'vitest';
import { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { NO_HOLDS } from '../../src/status/hold-status.ts';
import { type LastDenial, StatusWriter, type StatusWriterOptions } from '../../src/status/status-writer.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import type { GuardStatus } from '../../src/status/guard-status.ts';

const GUARDS = 'machineconfigguards';
/** By the clock of the API server. */
const NOW = new Date('2026-11-21T12:00:10Z');
const DENIAL: LastDenial = { time: '2026-11-21T12:00:00Z', name: 'rendered-a', user: 'gc', referrers: [] };

let cluster: InMemoryCluster;
let api: InProcessApi;
let writer: StatusWriter;
let lines: Record<string, unknown>[];
let onFailure: Mock<() => void>;
/** Undefined if another replica is the leader. */
let status: GuardStatus | undefined;

beforeEach(() => {
  fakeUntilEnd('performance', 'Date');
  cluster = new InMemoryCluster();
  cluster.create(GUARDS, { metadata: { name: 'cluster' } });
  api = new InProcessApi(cluster);
  onFailure = vi.fn<() => void>();
  const memory = memoryLog();
  ({ lines } = memory);
  answers = { deletions: new LRUCache({ max: 50 }), lastDenial: undefined };
  writer = new StatusWriter({ api, log: memory.log, stored: () => stored(), now: () => now, answers, onFailure });
  status = toStatus(1);
  stored = read;
  now = NOW;
});

function recordDenial(denial: LastDenial): void {
  answers.lastDenial = { ...denial, time: new Date(denial.time) };
}

/** Each read returns another object. */
const read = () => structuredClone(cluster.get(GUARDS, 'cluster'));
let stored = read;
let now: Date;
let answers: StatusWriterOptions['answers'];

function toStatus(protectedConfigs: number, consistent: 'True' | 'False' = 'True'): GuardStatus {
  return {
    mode: 'Enforce',
    version: '0.1.0',
    protectedConfigs,
    danglingCount: 0,
    danglingReferences: [],
    ...NO_HOLDS,
    conditions: [{ type: 'ReferencesConsistent', status: consistent, reason: 'R', message: 'm' }],
  };
}

/** Writes if the status has changed, and returns all statuses that were written so far. */
async function write(): Promise<unknown[]> {
  await writer.write(status, new AbortController().signal);
  const patches = api.requests.filter(({ method }) => method === 'PATCH');
  return patches.map(({ body }) => (body as { readonly status: unknown }).status);
}

function readStatus() {
  return cluster.get(GUARDS, 'cluster')?.['status'] as { conditions: { lastTransitionTime: string }[] };
}

const patchStatus = (change: object) => void cluster.patch(GUARDS, 'cluster', { status: change });

test.each<[string, number, () => void]>([
  ['it changes', 2, () => (status = toStatus(2))],
  ['it does not change', 1, () => {}],
  ['another client changes it', 2, () => patchStatus({ protectedConfigs: 7 })],
  [
    'another replica writes its answers',
    1,
    () => patchStatus({ lastDenial: { name: 'rendered-a' }, deletions: { b: { user: 'c' } } }),
  ],
])('if %s, has written the status %i times', async (_title, count, change) => {
  const foreign = { type: 'Foreign', status: 'True', reason: 'R', message: 'm', lastTransitionTime: DENIAL.time };
  // The field is of a newer version, and the condition of another client.
  patchStatus({ servableConfigs: [{ name: 'rendered-worker-1' }], conditions: [foreign] });
  await write();
  change();
  const statuses = await write();
  expect(statuses[0]).toMatchObject({ mode: 'Enforce', protectedConfigs: 1, observedGeneration: 1 });
  expect(statuses).toHaveLength(count);
  expect(await write()).toHaveLength(count);
  const observed = { observedGeneration: 1, lastTransitionTime: '2026-11-21T12:00:10Z' };
  expect(readStatus().conditions).toEqual([{ ...status?.conditions[0], ...observed }, foreign]);
});

test('writes the status once if the CRD drops a field', async () => {
  const json = api.json.bind(api);
  api.json = async (request) => {
    const answer = await json(request);
    patchStatus({ version: null });
    return request.method === 'PATCH' ? await json({ ...request, method: 'GET' }) : answer;
  };
  await write();
  expect(await write()).toHaveLength(1);
});

test('continues from its own write after a read that began before it', async () => {
  const before = read();
  await write();
  stored = () => before;
  status = toStatus(2);
  expect(await write()).toHaveLength(2);
  expect(readStatus()).toMatchObject({ protectedConfigs: 2 });
});

test('writes the same status again after a restore of etcd', async () => {
  const { version } = cluster;
  await write();
  cluster.restore(version);
  await write();
  await write();
  expect(readStatus()).toMatchObject({ protectedConfigs: 1 });
});

test('writes nothing over what another client has written since the read, and logs no problem', async () => {
  const json = api.json.bind(api);
  const spy = vi.spyOn(api, 'json').mockImplementation(async (request) => {
    patchStatus({ lastDenial: { time: '2026-11-21T12:00:05Z' } });
    return await json(request);
  });
  recordDenial({ ...DENIAL, time: '2026-11-21T12:00:01Z' });
  await write();
  expect(readStatus()).toEqual({ lastDenial: { time: '2026-11-21T12:00:05Z' } });
  spy.mockRestore();
  await write();
  expect(readStatus()).toMatchObject({ mode: 'Enforce', lastDenial: { time: '2026-11-21T12:00:05Z' } });
  expect(lines).toEqual([]);
});

test('writes the status of an object that can no longer be read, and again only after the next read', async () => {
  const last = read();
  stored = () => last;
  await write();
  status = toStatus(2);
  expect(await write()).toHaveLength(2);
  patchStatus({ version: 'x' });
  status = toStatus(3);
  await write();
  expect(await write()).toHaveLength(3);
  expect(readStatus()).toMatchObject({ protectedConfigs: 2 });
  stored = read;
  await write();
  expect(readStatus()).toMatchObject({ protectedConfigs: 3 });
});

test.each([
  ['an earlier', '2026-11-21T11:59:59Z', DENIAL.time],
  ['a later', '2026-11-21T12:00:09Z', '2026-11-21T12:00:09Z'],
  ['a future', '2026-11-21T13:00:00Z', DENIAL.time],
])('keeps the newest denial after %s one by the clock of the API server', async (_case, before, expected) => {
  patchStatus({ lastDenial: { ...DENIAL, time: before } });
  recordDenial(DENIAL);
  await write();
  expect(readStatus()).toMatchObject({ lastDenial: { time: expected } });
});

test('changes the transition time of a condition only with its status', async () => {
  const transitionTime = () => readStatus().conditions[0]?.lastTransitionTime;
  await write();
  const before = transitionTime();
  now = new Date(NOW.getTime() + 60_000);
  status = toStatus(2);
  await write();
  expect(transitionTime()).toBe(before);
  status = toStatus(2, 'False');
  await write();
  expect(transitionTime()).not.toBe(before);
});

test('writes the last of many denials, at most every ten seconds, also if it is not the leader', async () => {
  status = undefined;
  for (let count = 0; count < 50; count += 1) {
    recordDenial({ ...DENIAL, name: `rendered-${count}` });
    await write();
    vi.advanceTimersByTime(199);
  }
  vi.advanceTimersByTime(50);
  const [first, last] = [0, 49].map((count) => ({ lastDenial: { ...DENIAL, name: `rendered-${count}` } }));
  expect(await write()).toEqual([first, last]);
});

test('keeps the answers that were given during a write for the next one', async () => {
  status = undefined;
  const json = api.json.bind(api);
  const record = (user: string) => {
    recordDenial({ ...DENIAL, user });
    answers.deletions.set('rendered-b', { time: NOW, user });
  };
  record('alice');
  vi.spyOn(api, 'json').mockImplementationOnce(async (request) => {
    record('bob');
    return await json(request);
  });
  await write();
  vi.advanceTimersByTime(10_000);
  await write();
  expect(readStatus()).toMatchObject({ lastDenial: { user: 'bob' }, deletions: { 'rendered-b': { user: 'bob' } } });
});

test('writes a denial although the API server rejects the status, which it logs once', async () => {
  const json = api.json.bind(api);
  vi.spyOn(api, 'json').mockImplementation(async (request) => {
    const { status: written = {} } = (request.body ?? {}) as { readonly status?: object };
    if ('mode' in written) throw new ApiError(422, 'Invalid', 'x');
    return await json(request);
  });
  recordDenial(DENIAL);
  expect(await write()).toEqual([{ lastDenial: DENIAL }]);
  expect(await write()).toEqual([{ lastDenial: DENIAL }]);
  expect(lines).toMatchObject([{ msg: 'cannot write the status: the API server answered 422 Invalid' }]);
  expect(onFailure).toHaveBeenCalledTimes(2);
});

test('adds the deletions that it allowed to those of other replicas, and keeps the last 50', async () => {
  status = undefined;
  const toDeletion = (second: number, user: string) => ({
    time: `2026-11-21T12:00:${String(second).padStart(2, '0')}Z`,
    user,
  });
  const ofOthers = Array.from({ length: 50 }, (_, second) => [`rendered-${second}`, toDeletion(second, 'gc')]);
  patchStatus({ deletions: Object.fromEntries(ofOthers) as object });
  answers.deletions.set('rendered-a', { ...toDeletion(50, 'alice'), time: new Date(toDeletion(50, 'alice').time) });
  const reason = 'CHG-7';
  answers.deletions.set('rendered-7', { ...toDeletion(51, 'bob'), time: new Date(toDeletion(51, 'bob').time), reason });
  // Without a reason, the write removes that of an earlier deletion.
  const own = {
    'rendered-a': { ...toDeletion(50, 'alice'), reason: null },
    'rendered-7': { ...toDeletion(51, 'bob'), reason },
  };
  expect(await write()).toEqual([{ deletions: { ...own, 'rendered-0': null } }]);
  vi.advanceTimersByTime(10_000);
  expect(await write()).toHaveLength(1);
});
