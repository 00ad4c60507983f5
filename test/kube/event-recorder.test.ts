import { expect, test, vi } from 'vitest';
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

const DENIAL = {
  regarding: CONFIG,
  reason: 'DeletionDenied',
  action: 'Delete',
  note: 'MCG_IN_USE: …',
} as const;

test('writes the first denial as an Event about the config in the namespace default', async () => {
  const { events, requests } = createRecorder();
  events.record(DENIAL);
  await events.flush();
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/default/events',
    body: {
      type: 'Warning',
      reason: 'DeletionDenied',
      eventTime: '2026-11-20T12:00:00.000000Z',
      regarding: CONFIG,
    },
  });
});

test('writes repeated denials as one Event with a count', async () => {
  const { events, requests, clock } = createRecorder();
  for (let retry = 0; retry < 500; retry += 1) {
    events.record(DENIAL);
    clock.now += 10;
  }
  await events.flush();
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  const created = requests[0]?.body as { metadata: { name: string } };
  expect(requests[1]).toMatchObject({
    path: `/apis/events.k8s.io/v1/namespaces/default/events/${created.metadata.name}`,
    contentType: 'application/merge-patch+json',
    body: { series: { count: 500, lastObservedTime: '2026-11-20T12:00:04.990000Z' } },
  });
});

test('updates an Event at most every five seconds', async () => {
  vi.useFakeTimers();
  try {
    const { events, requests } = createRecorder();
    for (let retry = 0; retry < 50; retry += 1) events.record(DENIAL);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  } finally {
    vi.useRealTimers();
  }
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

test('logs an Event that cannot be written, and drops it', async () => {
  const { events, lines } = createRecorder(() => {
    throw new ApiUnreachable('x cannot be reached: ECONNREFUSED');
  });
  events.record(DENIAL);
  await events.flush();
  expect(lines).toMatchObject([
    { msg: 'cannot write an Event', reason: 'x cannot be reached: ECONNREFUSED' },
  ]);
});

test('creates an Event again that was deleted in the cluster', async () => {
  const { events, requests } = createRecorder(({ method }) => {
    if (method === 'PATCH') throw new ApiUnreachable('gone');
    return {};
  });
  events.record(DENIAL);
  events.record(DENIAL);
  await events.flush();
  events.record(DENIAL);
  await events.flush();
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
});

test.each(['é', '한'])('cuts a long note of %s to the bytes that the API allows', async (character) => {
  const { events, requests } = createRecorder();
  events.record({ ...DENIAL, note: character.repeat(5_000) });
  await events.flush();
  const note = (requests[0] as { body: { note: string } } | undefined)?.body.note ?? '';
  expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024);
  expect(Buffer.byteLength(note)).toBeGreaterThan(1_018);
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
    const regarding = { apiVersion: 'v1', kind: 'Node', name: `worker-${index}`, uid: `worker-${index}` };
    events.record({ regarding, reason: 'DanglingReference', action: 'Check', note: '…' });
  }
  await expect.poll(() => written.length).toBe(504);
  expect(maxConcurrent).toBe(4);
  expect(written).toEqual(Array.from({ length: 504 }, (_, index) => `worker-${index}`));
  expect(lines.map(({ msg }) => msg)).toEqual(['event queue full; dropping new events']);
});
