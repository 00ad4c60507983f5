import { expect, test, vi } from 'vitest';
import { sleep } from '../../src/common/wait.ts';
import { Lease } from '../../src/status/lease.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { memoryLog } from '../support/log.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/n/leases';

test('renews the Lease every 26 s, each request takes 10 s, and a release at the end 3 s', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance', 'Date');
  vi.setSystemTime('2026-11-21T12:00:00.123Z');
  const startedAt = performance.now();
  const requests: object[] = [];
  let hangs = false;
  const json = async ({ signal, ...request }: ApiRequest): Promise<unknown> => {
    requests.push({ ...request, atMs: performance.now() - startedAt });
    if (hangs) await sleep(60_000, signal);
    signal.throwIfAborted();
    const holderIdentity = requests.length === 1 ? '' : 'a';
    return await Promise.resolve({ metadata: { resourceVersion: '7' }, spec: { holderIdentity } });
  };
  const { log } = memoryLog();
  const stop = new AbortController();
  const onFailure = vi.fn<() => void>();
  const lease = new Lease({ api: { json }, log, namespace: 'n', name: 'l', identity: 'a', onFailure });
  const running = lease.run(stop.signal).then(() => performance.now() - startedAt);
  await vi.advanceTimersByTimeAsync(26_000);
  const read = { path: `${LEASES}/l`, timeoutMs: 10_000 };
  const toWrite = (renewTime: string, times: object = {}) => {
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 137, renewTime, ...times };
    const metadata = { name: 'l', namespace: 'n', resourceVersion: '7' };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    return { ...read, method: 'PATCH', contentType: 'application/merge-patch+json', body };
  };
  const acquireTime = '2026-11-21T12:00:00.123000Z';
  expect(requests).toEqual([
    { ...read, atMs: 0 },
    { ...toWrite(acquireTime, { acquireTime }), atMs: 0 },
    { ...read, atMs: 26_000 },
    { ...toWrite('2026-11-21T12:00:26.123000Z'), atMs: 26_000 },
  ]);
  hangs = true;
  stop.abort();
  await vi.runAllTimersAsync();
  expect(await running).toBe(29_000);
  expect(onFailure).not.toHaveBeenCalled();
});

test('counts the 137 s of a Lease from before its write, which can take long', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance', 'Date');
  let writes = 0;
  const json = async ({ method, signal }: ApiRequest): Promise<unknown> => {
    if (method !== undefined) writes += 1;
    if (writes > 1) throw new ApiError(500, '', '');
    await sleep(method === undefined ? 0 : 9_000, signal);
    return { metadata: {}, spec: {} };
  };
  const stop = new AbortController();
  const onFailure = vi.fn<() => void>();
  const options = { log: memoryLog().log, namespace: 'n', name: 'l', identity: 'a', onFailure };
  const lease = new Lease({ api: { json }, ...options });
  const running = lease.run(stop.signal);
  await vi.advanceTimersByTimeAsync(136_990);
  expect(lease.isHeld).toBe(true);
  await vi.advanceTimersByTimeAsync(20);
  expect(lease.isHeld).toBe(false);
  stop.abort();
  await running;
});

test.each<[string, readonly (object | number)[], number]>([
  ['an outage of the other replica, twice', [500, { holderIdentity: 'b' }, 500], 2],
  ['an outage of the leader, twice', [500, { holderIdentity: 'a' }, {}, 500], 2],
  ['one long outage', [500, 500, 500], 1],
  ['another replica that creates the Lease faster', [404, 409], 0],
  ['another replica that renews the Lease faster', [{ holderIdentity: '' }, 409], 0],
])('logs of %s what failed', async (_case, answers, lines) => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance', 'Date');
  const rest = [...answers];
  const json = async (): Promise<unknown> => {
    const answer = rest.shift() ?? { holderIdentity: 'b' };
    if (typeof answer === 'number') throw new ApiError(answer, '', '');
    return await Promise.resolve({ metadata: { resourceVersion: String(rest.length) }, spec: answer });
  };
  const { log, messages } = memoryLog();
  const stop = new AbortController();
  const onFailure = vi.fn<() => void>();
  const lease = new Lease({ api: { json }, log, namespace: 'n', name: 'l', identity: 'a', onFailure });
  const running = lease.run(stop.signal);
  await vi.advanceTimersByTimeAsync(answers.length * 26_000);
  expect(messages().filter((message) => message.startsWith('cannot acquire'))).toHaveLength(lines);
  expect(onFailure).toHaveBeenCalledTimes(answers.filter((answer) => answer === 500).length);
  stop.abort();
  await vi.runAllTimersAsync();
  await running;
});
