import { expect, test } from 'vitest';
import { ApiError } from '../../src/kube/errors.ts';
import { type ApiRequest } from '../../src/kube/api.ts';
import { type GuardStatus, StatusWriter } from '../../src/guard/status-writer.ts';
import { memoryLog } from '../support/log.ts';

const SIGNAL = new AbortController().signal;

function status(protectedConfigs: number, consistent = true): GuardStatus {
  return {
    mode: 'Enforce',
    protectedConfigs,
    danglingCount: 0,
    danglingReferences: [],
    conditions: [{ type: 'ReferencesConsistent', status: consistent ? 'True' : 'False', reason: 'R', message: 'm' }],
  };
}

function writer(isWriter = true) {
  let stored: Record<string, unknown> = {};
  const patches: Record<string, unknown>[] = [];
  let now = status(1);
  let failure: Error | undefined;
  const json = async ({ method = 'GET', body }: ApiRequest): Promise<unknown> => {
    await Promise.resolve();
    if (failure !== undefined) throw failure;
    if (method === 'PATCH') {
      const { status: part } = body as { status: Record<string, unknown> };
      patches.push(part);
      stored = { ...stored, ...(JSON.parse(JSON.stringify(part)) as object) };
    }
    return { metadata: { generation: 3 }, status: stored };
  };
  const { log, lines } = memoryLog();
  const it = new StatusWriter({
    api: { json },
    log,
    isLeader: () => isWriter,
    status: () => now,
    denialIntervalMs: 40,
  });
  return {
    it,
    patches,
    lines,
    set: (next: GuardStatus) => void (now = next),
    fail: (error: Error | undefined) => void (failure = error),
    transition: () => (stored['conditions'] as { lastTransitionTime: string }[])[0]?.lastTransitionTime,
    backdate: () => {
      for (const one of stored['conditions'] as { lastTransitionTime: string }[])
        one.lastTransitionTime = '2020-01-01T00:00:00Z';
    },
  };
}

test('written once, then only when something differs', async () => {
  const { it, patches, set } = writer();
  await it.writeIfChanged(SIGNAL);
  await it.writeIfChanged(SIGNAL);
  expect(patches).toEqual([expect.objectContaining({ mode: 'Enforce', protectedConfigs: 1, observedGeneration: 3 })]);
  set(status(2));
  await it.writeIfChanged(SIGNAL);
  expect(patches).toHaveLength(2);
});

test('the time of a condition changes with its status, and with nothing else', async () => {
  const { it, set, transition, backdate } = writer();
  await it.writeIfChanged(SIGNAL);
  backdate();
  set(status(2));
  await it.writeIfChanged(SIGNAL);
  expect(transition()).toBe('2020-01-01T00:00:00Z');
  set(status(2, false));
  await it.writeIfChanged(SIGNAL);
  expect(transition()).not.toBe('2020-01-01T00:00:00Z');
});

test('who does not hold the lease writes nothing but its own denials', async () => {
  const { it, patches } = writer(false);
  it.recordDenial({ time: new Date('2026-11-21T12:00:00.5Z'), name: 'rendered-a', user: 'eve', references: [] });
  await it.writeIfChanged(SIGNAL);
  expect(patches).toEqual([
    { lastDenial: { time: '2026-11-21T12:00:00Z', name: 'rendered-a', user: 'eve', referrers: [] } },
  ]);
});

test('of many denials the last is written, and not each of them', async () => {
  const { it, patches } = writer(false);
  for (let count = 0; count < 50; count += 1) {
    it.recordDenial({ time: new Date(), name: `rendered-${count}`, user: 'gc', references: [] });
    await it.writeIfChanged(SIGNAL);
  }
  expect(patches.length).toBeLessThan(10);
  await new Promise((resolve) => setTimeout(resolve, 60));
  await it.writeIfChanged(SIGNAL);
  expect(patches.at(-1)).toMatchObject({ lastDenial: { name: 'rendered-49' } });
});

test('a status that cannot be written is said once; an absent object is not worth a word', async () => {
  const { it, lines, fail } = writer();
  fail(new ApiError(404, 'NotFound', 'x'));
  await it.writeIfChanged(SIGNAL);
  expect(lines).toEqual([]);
  fail(new ApiError(403, 'Forbidden', 'x'));
  await it.writeIfChanged(SIGNAL);
  await it.writeIfChanged(SIGNAL);
  expect(lines.map(({ msg }) => msg)).toEqual(['the status cannot be written: the API server answered 403 Forbidden']);
});
