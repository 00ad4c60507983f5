import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { sleep, waitOrAbort, withTimeout } from '../../src/common/wait.ts';

test('leaves neither a listener on the signal nor a timer after a wait', async () => {
  const { signal } = new AbortController();
  await waitOrAbort(Promise.resolve(), signal);
  await sleep(0, signal);
  vi.useFakeTimers();
  await withTimeout(1_000, signal, async () => await Promise.resolve());
  expect([getEventListeners(signal, 'abort'), vi.getTimerCount()]).toEqual([[], 0]);
  vi.useRealTimers();
});
