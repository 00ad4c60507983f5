import { expect, onTestFinished, test, vi } from 'vitest';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { EventRecorder } from '../../src/kube/event-recorder.ts';
import { memoryLog } from '../support/log.ts';

const CONFIG = { apiVersion: 'v1', kind: 'MachineConfig', name: 'rendered-a', uid: 'c-uid' };

function createRecorder(answer: (request: ApiRequest) => unknown = () => ({})) {
  const requests: ApiRequest[] = [];
  const { log, lines } = memoryLog();
  const clock = { now: Date.UTC(2026, 10, 20, 12) };
  const json = async (request: ApiRequest) => {
    requests.push(request);
    return await Promise.resolve(answer(request));
  };
  const events = new EventRecorder({ api: { json } as unknown as KubeApi, log, now: () => clock.now });
  return { events, requests, clock, lines };
}

const DENIAL = { regarding: CONFIG, reason: 'DeletionDenied', action: 'Delete', note: 'a' } as const;

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

test('writes repeated denials as one Event about the config with a count', async () => {
  const { events, requests, clock } = createRecorder();
  for (let retry = 0; retry < 500; retry += 1) {
    events.record(DENIAL);
    clock.now += 10;
  }
  await events.flush();
  const eventTime = '2026-11-20T12:00:00.000000Z';
  const body = { type: 'Warning', reason: 'DeletionDenied', eventTime, regarding: CONFIG };
  expect(requests).toMatchObject([{ method: 'POST', path: EVENTS, body }, { method: 'PATCH' }]);
  const created = requests[0]?.body as { metadata: { name: string } };
  expect(requests[1]).toMatchObject({
    path: `${EVENTS}/${created.metadata.name}`,
    contentType: 'application/merge-patch+json',
    body: { series: { count: 500, lastObservedTime: '2026-11-20T12:00:04.990000Z' } },
  });
});

test('updates an Event at most every five seconds', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { events, requests } = createRecorder();
  for (let retry = 0; retry < 50; retry += 1) events.record(DENIAL);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
});

test('writes another Event for another config, reason or user, and after six minutes', async () => {
  const { events, requests, clock } = createRecorder();
  events.record(DENIAL);
  events.record({ ...DENIAL, regarding: { ...CONFIG, uid: 'another-uid' } });
  events.record({ ...DENIAL, reason: 'DeletionOverridden' });
  events.record({ ...DENIAL, user: 'another-user' });
  clock.now += 6 * 60_000 + 1;
  events.record(DENIAL);
  await events.flush();
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'POST', 'POST']);
});

test('logs an update that cannot be written, and creates the Event again', async () => {
  const { events, requests, lines } = createRecorder(({ method }) => {
    if (method === 'PATCH') throw new ApiUnreachable('gone');
    return {};
  });
  events.record(DENIAL);
  events.record(DENIAL);
  await events.flush();
  expect(lines).toMatchObject([{ msg: 'cannot write an Event', reason: 'gone' }]);
  events.record(DENIAL);
  await events.flush();
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
});

test.each(['é', '한'])('cuts a long note of %s to the bytes that the API allows', async (character) => {
  const { events, requests } = createRecorder();
  events.record({ ...DENIAL, note: character.repeat(5_000) });
  await events.flush();
  const note = (requests[0] as { body: { note: string } } | undefined)?.body.note ?? '';
  expect([1_022, 1_023, 1_024]).toContain(Buffer.byteLength(note));
  expect(note).toMatch(new RegExp(`^${character}+\\.\\.\\.$`));
});

test('writes four of many Events at a time, drops those beyond 500, and logs that once', async () => {
  let [concurrent, maxConcurrent] = [0, 0];
  const written: string[] = [];
  const { events, lines } = createRecorder(async ({ body }) => {
    concurrent += 1;
    maxConcurrent = Math.max(maxConcurrent, concurrent);
    await new Promise((resolve) => setImmediate(resolve));
    written.push((body as { regarding: { name: string } }).regarding.name);
    concurrent -= 1;
    return {};
  });
  for (let index = 0; index < 5_000; index += 1) {
    events.record({ ...DENIAL, regarding: { ...CONFIG, name: `config-${index}` } });
  }
  await expect.poll(() => written.length).toBeGreaterThanOrEqual(500);
  // Ten more are allowed each second.
  expect(written.length).toBeLessThan(550);
  expect(maxConcurrent).toBe(4);
  const first = written.slice(0, 500);
  expect(first).toEqual(Array.from(first, (_name, index) => `config-${index}`));
  expect(lines).toMatchObject([{ msg: 'too many Events; dropping new ones' }]);
});
