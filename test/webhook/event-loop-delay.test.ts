import type { IntervalHistogram } from 'node:perf_hooks';
import { expect, test, vi } from 'vitest';
import { EventLoopDelay } from '../../src/webhook/event-loop-delay.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

test('remembers the longest delay, without the 10 ms between two samples, for one to two minutes', () => {
  fakeUntilEnd('setInterval');
  const intervals = { max: 0, enable: () => true, reset: () => void (intervals.max = 0) };
  const delay = new EventLoopDelay(intervals as unknown as IntervalHistogram);
  intervals.max = 310e6;
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  vi.advanceTimersByTime(60_000);
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  intervals.max = 110e6;
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  vi.advanceTimersByTime(60_000);
  expect(delay.longestSeconds).toBeCloseTo(0.1);
});

test('measures the work that holds the event loop', async () => {
  const delay = new EventLoopDelay();
  const holdAndRead = () => {
    const end = performance.now() + 300;
    while (performance.now() < end);
    return delay.longestSeconds;
  };
  // A delay counts only between two samples, and the first one comes in a later turn of the event loop.
  await expect.poll(holdAndRead).toBeGreaterThan(0.28);
});
