import type { IntervalHistogram } from 'node:perf_hooks';
import { expect, onTestFinished, test, vi } from 'vitest';
import { EventLoopDelay } from '../../src/webhook/event-loop-delay.ts';

test('remembers the longest delay, without the 10 ms between two samples, for one to two minutes', () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const intervals = { max: 0, enable: vi.fn<() => boolean>(), reset: () => void (intervals.max = 0) };
  const delay = new EventLoopDelay(intervals as unknown as IntervalHistogram);
  expect(intervals.enable).toHaveBeenCalledOnce();
  intervals.max = 310e6;
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  vi.advanceTimersByTime(60_000);
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  intervals.max = 110e6;
  expect(delay.longestSeconds).toBeCloseTo(0.3);
  vi.advanceTimersByTime(60_000);
  expect(delay.longestSeconds).toBeCloseTo(0.1);
});
