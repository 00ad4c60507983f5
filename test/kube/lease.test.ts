import { expect, onTestFinished, test } from 'vitest';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { type ApiRequest } from '../../src/kube/api.ts';
import { Lease, type LeaseOptions } from '../../src/kube/lease.ts';
import { memoryLog } from '../support/log.ts';

const TIMING = { durationMs: 150, retryMs: 10 };

interface Stored {
  metadata: { resourceVersion: string };
  spec: { holderIdentity: string; leaseTransitions: number };
}

/** One Lease as an API server keeps it: versions, conflicts. */
function store() {
  let stored: Stored | undefined;
  let version = 0;
  let broken = false;
  const json = async ({ method, body }: ApiRequest): Promise<unknown> => {
    await Promise.resolve();
    if (broken) throw new ApiUnreachable('gone');
    const next = body as Stored;
    if (method === undefined) {
      if (stored === undefined) throw new ApiError(404, 'NotFound', 'there is none');
      return stored;
    }
    if (method === 'POST' && stored !== undefined) throw new ApiError(409, 'AlreadyExists', 'there is one');
    if (method === 'PATCH' && next.metadata.resourceVersion !== stored?.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', 'it has changed');
    }
    version += 1;
    stored = { metadata: { resourceVersion: String(version) }, spec: { ...stored?.spec, ...next.spec } };
    return stored;
  };
  return {
    api: { json },
    holder: () => stored?.spec.holderIdentity,
    break: (is: boolean) => void (broken = is),
    spec: () => stored?.spec,
  };
}

function candidate(api: LeaseOptions['api'], identity: string) {
  const { log, lines } = memoryLog();
  const lease = new Lease({ api, namespace: 'ns', name: 'guard', identity, log, timing: TIMING });
  const stop = new AbortController();
  const running = lease.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  return { lease, end, lines, stop };
}

test('one of several gets it, and keeps it', async () => {
  const { api, holder } = store();
  const all = ['a', 'b', 'c'].map((identity) => candidate(api, identity));
  await expect.poll(() => all.filter(({ lease }) => lease.isHeld).length).toBe(1);
  const first = holder();
  for (let look = 0; look < 20; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(all.filter(({ lease }) => lease.isHeld)).toHaveLength(1);
    expect(holder()).toBe(first);
  }
});

test('whoever ends gives it back, and another need not wait', async () => {
  const { api, holder } = store();
  const first = candidate(api, 'a');
  await expect.poll(() => first.lease.isHeld).toBe(true);
  const second = candidate(api, 'b');
  await first.end();
  expect(first.lease.isHeld).toBe(false);
  expect(holder()).toBe('');
  await expect.poll(() => second.lease.isHeld, { timeout: 100, interval: 5 }).toBe(true);
});

test('one that died without a word is taken over after the duration, and not before', async () => {
  const { api, spec } = store();
  // Written once, by somebody who will never write again.
  await api.json({
    method: 'POST',
    path: '',
    body: { spec: { holderIdentity: 'dead', leaseTransitions: 4 } },
    signal: AbortSignal.timeout(1_000),
  });
  const begun = performance.now();
  const second = candidate(api, 'b');
  await expect.poll(() => second.lease.isHeld, { interval: 5 }).toBe(true);
  expect(performance.now() - begun).toBeGreaterThan(TIMING.durationMs);
  expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 5 });
});

test('one that cannot renew it holds it no longer than its duration, and says once why', async () => {
  const it = store();
  const only = candidate(it.api, 'a');
  await expect.poll(() => only.lease.isHeld).toBe(true);
  it.break(true);
  await expect.poll(() => only.lease.isHeld).toBe(false);
  expect(only.lines.filter(({ level }) => level === 40)).toHaveLength(1);
  it.break(false);
  await expect.poll(() => only.lease.isHeld).toBe(true);
});
