import { expect, onTestFinished, test, vi } from 'vitest';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { EventRecorder } from '../../src/kube/event-recorder.ts';
import { memoryLog } from '../support/log.ts';

const CONFIG = { apiVersion: 'v1', kind: 'MachineConfig', name: 'rendered-a', uid: 'c-uid' };
const DENIAL = { regarding: CONFIG, reason: 'DeletionDenied', action: 'Delete', note: 'a' } as const;
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

/** A recorder, and the Events that it has written. */
function createRecorder(answer: (request: ApiRequest) => unknown = () => ({})) {
  const requests: ApiRequest[] = [];
  const { log, lines } = memoryLog();
  const clock = { now: Date.UTC(2026, 10, 20, 12) };
  const json = async (request: ApiRequest) => {
    requests.push(request);
    return await Promise.resolve(answer(request));
  };
  const events = new EventRecorder({ json }, log, () => clock.now);
  const names = () =>
    requests.map(({ body }) => (body as { readonly metadata: { readonly name: string } }).metadata.name);
  return { events, requests, names, clock, lines };
}

test('writes one Event about a config for all denials in six minutes', async () => {
  const { events, requests, clock } = createRecorder();
  for (let retry = 0; retry < 500; retry += 1) {
    events.record({ ...DENIAL, note: `denial ${retry}` });
    clock.now += 500;
  }
  await events.flush();
  const eventTime = '2026-11-20T12:00:00.000000Z';
  const body = { type: 'Warning', reason: 'DeletionDenied', eventTime, note: 'denial 0', regarding: CONFIG };
  expect(requests).toMatchObject([{ method: 'POST', path: EVENTS, body }]);
});

test('writes another Event for another config, reason, user or named config, and after six minutes', async () => {
  const { events, names, clock } = createRecorder();
  events.record(DENIAL);
  events.record({ ...DENIAL, regarding: { ...CONFIG, uid: 'another-uid' } });
  events.record({ ...DENIAL, reason: 'DeletionOverridden' });
  events.record({ ...DENIAL, user: 'another-user' });
  events.record({ ...DENIAL, config: 'rendered-b' });
  clock.now += 6 * 60_000;
  events.record(DENIAL);
  await events.flush();
  expect(new Set(names()).size).toBe(6);
  expect(names()).toHaveLength(6);
});

test('gives the Event of two replicas one name, and does not log that it exists', async () => {
  const [first, second] = [createRecorder(), createRecorder(() => Promise.reject(new ApiError(409, '', '')))];
  for (const { events } of [first, second]) {
    events.record(DENIAL);
    await events.flush();
    events.record(DENIAL);
    await events.flush();
  }
  expect(second.names()).toEqual(first.names());
  expect(second.names()).toHaveLength(1);
  expect(second.lines).toEqual([]);
});

test('logs an Event that cannot be written, and writes the next repetition', async () => {
  const { events, requests, lines } = createRecorder(() => {
    if (requests.length === 1) throw new ApiUnreachable('gone');
    return {};
  });
  events.record(DENIAL);
  await events.flush();
  expect(lines).toMatchObject([{ msg: 'cannot write an Event', reason: 'gone' }]);
  events.record(DENIAL);
  await events.flush();
  events.record(DENIAL);
  await events.flush();
  expect(requests).toHaveLength(2);
});

test.each(['é', '한'])('cuts a long note of %s to the bytes that the API allows', async (character) => {
  const { events, requests } = createRecorder();
  events.record({ ...DENIAL, note: character.repeat(5_000) });
  await events.flush();
  const note = (requests[0] as { body: { note: string } } | undefined)?.body.note ?? '';
  expect([1_022, 1_023, 1_024]).toContain(Buffer.byteLength(note));
  expect(note).toMatch(new RegExp(`^${character}+\\.\\.\\.$`));
});

/** Records Events about configs with different names. */
function recordMany(events: EventRecorder, from: number, to: number) {
  for (let index = from; index < to; index += 1)
    events.record({ ...DENIAL, regarding: { ...CONFIG, name: `config-${index}` } });
}

test('writes 500 Events at once, then ten each second, and logs once that it drops others', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { events, requests, lines } = createRecorder();
  for (let index = 0; index < 600; index += 1) {
    recordMany(events, index, index + 1);
    await events.flush();
  }
  expect(requests).toHaveLength(500);
  expect(lines).toMatchObject([{ msg: 'too many Events; dropping new ones' }]);
  vi.advanceTimersByTime(1_000);
  recordMany(events, 600, 700);
  await events.flush();
  expect(requests).toHaveLength(510);
});

test('sends four Events at a time, and keeps at most 500 while the API server does not answer', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { events, requests } = createRecorder(() => answered);
  recordMany(events, 0, 500);
  vi.advanceTimersByTime(60_000);
  recordMany(events, 500, 1_000);
  expect(requests).toHaveLength(4);
  answer();
  await events.flush();
  expect(requests).toHaveLength(504);
});
