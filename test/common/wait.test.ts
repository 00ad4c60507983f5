import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { repeat, sleep, waitOrAbort, withTimeout } from '../../src/common/wait.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';

test('leaves neither a listener on the signal nor a timer after a wait', async () => {
  const { signal } = new AbortController();
  await waitOrAbort(Promise.resolve(), signal);
  await sleep(0, signal);
  vi.useFakeTimers();
  await withTimeout(1_000, signal, async () => await Promise.resolve());
  expect([getEventListeners(signal, 'abort'), vi.getTimerCount()]).toEqual([[], 0]);
  vi.useRealTimers();
});

test('repeats work that has failed for an hour within a minute after its pause', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout');
  const work = vi.fn<() => Promise<void>>().mockRejectedValue(new Error('failed'));
  runUntilEnd(async (signal) => await repeat(1_000, signal, work, () => {}));
  await vi.advanceTimersByTimeAsync(3_600_000);
  work.mockClear();
  await vi.advanceTimersByTimeAsync(61_000);
  expect(work).toHaveBeenCalled();
});
