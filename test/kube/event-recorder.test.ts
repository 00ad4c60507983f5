import { hostname } from 'node:os';
import { beforeEach, expect, test, vi } from 'vitest';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { type ClusterEvent, EventRecorder, EVENTS as PURPOSE } from '../../src/kube/event-recorder.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

const CONFIG = { apiVersion: 'v1', kind: 'MachineConfig', name: 'rendered-a', uid: 'c-uid' };
const DENIAL = { regarding: CONFIG, reason: 'DeletionDenied', action: 'Delete', note: 'a' } as const;
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

beforeEach(() => {
  fakeUntilEnd('performance', 'Date');
  vi.setSystemTime(Date.UTC(2026, 10, 20, 12));
});

/** A recorder, and the Events that it has written. */
function createRecorder(answer: () => unknown = () => ({})) {
  const requests: ApiRequest[] = [];
  const { log, lines } = memoryLog();
  const json = async (request: ApiRequest) => {
    requests.push(request);
    return await Promise.resolve(answer());
  };
  const recorder = new EventRecorder({ api: { json }, log, controller: 'example.io/test', namePrefix: 'test' });
  const record = async (...changes: readonly Partial<ClusterEvent>[]) => {
    for (const change of changes) recorder.record({ ...DENIAL, ...change });
    await recorder.flush();
  };
  const names = () =>
    requests.map(({ body }) => (body as { readonly metadata: { readonly name: string } }).metadata.name);
  return { recorder, record, requests, names, lines };
}

test('writes one Event of a config, reason and variant in six minutes', async () => {
  const { record, requests, names } = createRecorder();
  for (let retry = 0; retry < 500; retry += 1) {
    await record({ note: `denial ${retry}` });
    vi.advanceTimersByTime(500);
  }
  expect(requests).toMatchObject([{ method: 'POST', path: EVENTS, purpose: PURPOSE }]);
  expect(requests[0]?.body).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: names()[0], namespace: 'default' },
    eventTime: '2026-11-20T12:00:00.000000Z',
    type: 'Warning',
    reason: 'DeletionDenied',
    action: 'Delete',
    note: 'denial 0',
    reportingController: 'example.io/test',
    reportingInstance: hostname(),
    regarding: CONFIG,
  });
  const regarding = { ...CONFIG, uid: 'another-uid' };
  await record({ regarding }, { reason: 'DeletionOverridden' }, { variant: 'a-user' }, { variant: 'another-user' });
  vi.advanceTimersByTime(6 * 60_000 - 500 * 500);
  await record({});
  expect([names().length, new Set(names()).size]).toEqual([6, 6]);
});

test('gives the Event of two replicas one name, and does not log that it exists', async () => {
  const [first, second] = [createRecorder(), createRecorder(() => Promise.reject(new ApiError(409, '', '')))];
  for (const { record } of [first, second, first, second]) await record({});
  expect(second.names()).toEqual(first.names());
  expect(second.names()).toHaveLength(1);
  expect(second.lines).toEqual([]);
});

test('logs an Event that cannot be written, and writes the next repetition', async () => {
  const answer = vi.fn<() => unknown>().mockRejectedValueOnce(new ApiUnreachable('gone'));
  const { record, requests, lines } = createRecorder(answer);
  await record({});
  expect(lines).toMatchObject([{ msg: 'cannot write an Event', reason: 'gone' }]);
  await record({});
  await record({});
  expect(requests).toHaveLength(2);
});

test.each(['é', '한'])('cuts a long note of %s to the bytes that the API allows', async (character) => {
  const { record, requests } = createRecorder();
  await record({ note: character.repeat(5_000) });
  const { note = '' } = (requests[0]?.body ?? {}) as { readonly note?: string };
  expect([1_022, 1_023, 1_024]).toContain(Buffer.byteLength(note));
  // The last one is cut in two.
  expect(note).toMatch(new RegExp(`^${character}+\uFFFD?$`));
});

test('writes 500 Events at once, then ten each second, and logs once that it drops others', async () => {
  const { record, requests, lines } = createRecorder();
  const denials = Array.from({ length: 700 }, (_, at) => ({ regarding: { ...CONFIG, name: `config-${at}` } }));
  for (const denial of denials.slice(0, 600)) await record(denial);
  expect(requests).toHaveLength(500);
  expect(lines).toMatchObject([{ msg: 'too many Events; dropping new ones' }]);
  vi.advanceTimersByTime(1_000);
  await record(...denials.slice(600));
  expect(requests).toHaveLength(510);
});

test('writes 25 Events of an object at once, then one in five minutes, and those of other objects', async () => {
  const { record, names } = createRecorder();
  const recordVariants = async (count: number, name = CONFIG.name) => {
    for (let at = 0; at < count; at += 1) {
      await record({ regarding: { ...CONFIG, name }, variant: `user-${names().length}-${at}` });
    }
    return names().length;
  };
  expect(await recordVariants(840)).toBe(25);
  vi.advanceTimersByTime(5 * 60_000);
  expect(await recordVariants(100)).toBe(26);
  expect(await recordVariants(1, 'another')).toBe(27);
});
