import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { type GuardStatus, StatusWriter } from '../../src/status/status-writer.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';

const GUARDS = 'machineconfigguards';
const { signal } = new AbortController();

let cluster: InMemoryCluster;
let api: InProcessApi;
let status: GuardStatus;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  cluster = new InMemoryCluster();
  cluster.create(GUARDS, { metadata: { name: 'cluster' } });
  api = new InProcessApi(cluster);
  status = toStatus(1);
});

afterEach(() => {
  vi.useRealTimers();
});

function toStatus(protectedConfigs: number, consistent: 'True' | 'False' = 'True'): GuardStatus {
  return {
    mode: 'Enforce',
    version: '0.1.0',
    protectedConfigs,
    danglingCount: 0,
    danglingReferences: [],
    conditions: [{ type: 'ReferencesConsistent', status: consistent, reason: 'R', message: 'm' }],
  };
}

function createWriter(isLeader = true) {
  const { log, lines } = memoryLog();
  const writer = new StatusWriter({
    api,
    log,
    isLeader: () => isLeader,
    status: () => status,
  });
  return { writer, lines };
}

function writtenStatuses(): unknown[] {
  const patches = api.requests.filter(({ method }) => method === 'PATCH');
  return patches.map(({ body }) => (body as { readonly status: unknown }).status);
}

function transitionTime() {
  type Status = { conditions: { lastTransitionTime: string }[] };
  const status = cluster.get(GUARDS, 'cluster')?.['status'] as Status;
  return status.conditions[0]?.lastTransitionTime;
}

test('writes the status once, and again only if it changes', async () => {
  const { writer } = createWriter();
  await writer.writeIfChanged(signal);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toMatchObject([{ mode: 'Enforce', protectedConfigs: 1, observedGeneration: 1 }]);
  status = toStatus(2);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(2);
});

test('writes the status again if another client changes it, but not for the answers of another replica', async () => {
  const { writer } = createWriter();
  await writer.writeIfChanged(signal);
  cluster.patch(GUARDS, 'cluster', { status: { lastDenial: { name: 'rendered-a' }, deletions: { b: { user: 'c' } } } });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(1);
  cluster.patch(GUARDS, 'cluster', { status: { protectedConfigs: 7 } });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(2);
});

test('writes the status once if a newer version has written a field that it does not know', async () => {
  const { writer } = createWriter();
  cluster.patch(GUARDS, 'cluster', { status: { servableConfigs: [{ name: 'rendered-worker-1' }] } });
  await writer.writeIfChanged(signal);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(1);
});

test('writes the status once if the CRD drops a field', async () => {
  const { writer } = createWriter();
  const json = api.json.bind(api);
  api.json = async (request) => {
    const answer = await json(request);
    cluster.patch(GUARDS, 'cluster', { status: { version: null } });
    return request.method === 'PATCH' ? await json({ path: request.path.replace('/status', ''), signal }) : answer;
  };
  await writer.writeIfChanged(signal);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(1);
});

test('removes a count that the guard cannot know, once', async () => {
  const { writer } = createWriter();
  await writer.writeIfChanged(signal);
  status = { ...toStatus(1), protectedConfigs: null };
  await writer.writeIfChanged(signal);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(2);
  expect(cluster.get(GUARDS, 'cluster')?.['status']).toMatchObject({ danglingCount: 0 });
  expect(cluster.get(GUARDS, 'cluster')?.['status']).not.toHaveProperty('protectedConfigs');
});

test('changes the transition time of a condition only with its status', async () => {
  const { writer } = createWriter();
  await writer.writeIfChanged(signal);
  const before = transitionTime();
  vi.advanceTimersByTime(60_000);
  status = toStatus(2);
  await writer.writeIfChanged(signal);
  expect(transitionTime()).toBe(before);
  status = toStatus(2, 'False');
  await writer.writeIfChanged(signal);
  expect(transitionTime()).not.toBe(before);
});

test('writes nothing but its own answers if it is not the leader', async () => {
  const { writer } = createWriter(false);
  const denial = { name: 'rendered-a', user: 'eve' };
  writer.recordDenial({ ...denial, time: new Date('2026-11-21T12:00:00.5Z'), references: [] });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toEqual([{ lastDenial: { ...denial, time: '2026-11-21T12:00:00Z', referrers: [] } }]);
});

test('writes the last of many denials, at most every ten seconds', async () => {
  const { writer } = createWriter(false);
  for (let count = 0; count < 50; count += 1) {
    writer.recordDenial({ time: new Date(), name: `rendered-${count}`, user: 'gc', references: [] });
    await writer.writeIfChanged(signal);
  }
  vi.advanceTimersByTime(10_000);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toMatchObject([
    { lastDenial: { name: 'rendered-0' } },
    { lastDenial: { name: 'rendered-49' } },
  ]);
});

test('keeps a later denial of another replica', async () => {
  const { writer } = createWriter(false);
  const denial = { name: 'rendered-a', user: 'gc', references: [] };
  cluster.patch(GUARDS, 'cluster', { status: { lastDenial: { time: '2026-11-21T12:00:05Z' } } });
  writer.recordDenial({ ...denial, time: new Date('2026-11-21T12:00:01Z') });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toEqual([]);
  vi.advanceTimersByTime(10_000);
  writer.recordDenial({ ...denial, time: new Date('2026-11-21T12:00:09Z') });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toMatchObject([{ lastDenial: { time: '2026-11-21T12:00:09Z' } }]);
});

test('writes a denial although the API server rejects the status', async () => {
  const { writer, lines } = createWriter();
  const json = api.json.bind(api);
  vi.spyOn(api, 'json').mockImplementation(async (request) => {
    const { status: written = {} } = (request.body ?? {}) as { readonly status?: object };
    if ('mode' in written) throw new ApiError(422, 'Invalid', 'x');
    return await json(request);
  });
  writer.recordDenial({ time: new Date(), name: 'rendered-a', user: 'gc', references: [] });
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toMatchObject([{ lastDenial: { name: 'rendered-a' } }]);
  expect(lines).toMatchObject([{ msg: 'cannot write the status: the API server answered 422 Invalid' }]);
});

test('writes a denial that is recorded while another is being written', async () => {
  const { writer } = createWriter(false);
  const denial = { time: new Date(), user: 'gc', references: [] };
  writer.recordDenial({ ...denial, name: 'rendered-0' });
  const written = writer.writeIfChanged(signal);
  writer.recordDenial({ ...denial, name: 'rendered-1' });
  await written;
  vi.advanceTimersByTime(10_000);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toMatchObject([
    { lastDenial: { name: 'rendered-0' } },
    { lastDenial: { name: 'rendered-1' } },
  ]);
});

test('adds the deletions that it allowed to those of other replicas, and keeps the last 50', async () => {
  const toDeletion = (second: number, user: string) => ({
    time: `2026-11-21T12:00:${String(second).padStart(2, '0')}Z`,
    user,
  });
  const ofOthers = Array.from({ length: 50 }, (_, second) => [`rendered-${second}`, toDeletion(second, 'gc')]);
  cluster.patch(GUARDS, 'cluster', { status: { deletions: Object.fromEntries(ofOthers) as object } });
  const { writer } = createWriter(false);
  writer.recordAllowedDeletion({ time: new Date('2026-11-21T12:00:50.9Z'), name: 'rendered-a', user: 'alice' });
  writer.recordAllowedDeletion({ time: new Date('2026-11-21T12:00:51Z'), name: 'rendered-7', user: 'bob' });
  await writer.writeIfChanged(signal);
  const own = { 'rendered-a': toDeletion(50, 'alice'), 'rendered-7': toDeletion(51, 'bob') };
  expect(writtenStatuses()).toEqual([{ deletions: { ...own, 'rendered-0': null } }]);
  vi.advanceTimersByTime(10_000);
  await writer.writeIfChanged(signal);
  expect(writtenStatuses()).toHaveLength(1);
});

test('logs once that it cannot write the status, and nothing if the object is absent', async () => {
  const { writer, lines } = createWriter();
  cluster.erase(GUARDS, 'cluster');
  await writer.writeIfChanged(signal);
  expect(lines).toEqual([]);
  api.failure = new ApiError(403, 'Forbidden', 'x');
  await writer.writeIfChanged(signal);
  await writer.writeIfChanged(signal);
  expect(lines).toMatchObject([{ msg: 'cannot write the status: the API server answered 403 Forbidden' }]);
});
