import { expect, test, vi } from 'vitest';
import { NEVER_ABORTED, sleep } from '../../src/common/wait.ts';
import { Lease } from '../../src/status/lease.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

test('renews the Lease every 26 s, with 10 s for each request, and stops after 3 s if it cannot release it', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  const startedAt = performance.now();
  const requests: unknown[] = [];
  let hangs = false;
  const json = async ({ method = 'GET', timeoutMs, signal = NEVER_ABORTED }: ApiRequest): Promise<unknown> => {
    requests.push([method, timeoutMs, performance.now() - startedAt]);
    if (hangs) await sleep(60_000, signal);
    signal.throwIfAborted();
    return await Promise.resolve({ metadata: { resourceVersion: '1' }, spec: { holderIdentity: 'a' } });
  };
  const { log } = memoryLog();
  const stop = new AbortController();
  const lease = new Lease({ api: { json }, log, namespace: 'n', name: 'l', identity: 'a', onFailure: expect.fail });
  const running = lease.run(stop.signal).then(() => performance.now() - startedAt);
  await vi.advanceTimersByTimeAsync(26_000);
  expect(requests).toEqual([
    ['GET', 10_000, 0],
    ['PATCH', 10_000, 0],
    ['GET', 10_000, 26_000],
    ['PATCH', 10_000, 26_000],
  ]);
  hangs = true;
  stop.abort();
  await vi.runAllTimersAsync();
  expect(await running).toBe(29_000);
});
