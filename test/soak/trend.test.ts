import { expect, test } from 'vitest';
import { Random } from '../support/random.ts';
import { findTrend, isGrowing, type Sample, type Trend } from './trend.ts';

const LIMIT = 0.55;
const RANDOM = new Random(7);

/** The trend of ten minutes with a sample every two seconds. */
function trendOf(valueAt: (minute: number) => number): Trend {
  return findTrend(Array.from({ length: 300 }, (_, index): Sample => [index / 30, valueAt(index / 30)]));
}

/** Between -1 and 1, most often near 0. */
function noise(): number {
  return (RANDOM.below(1_000) + RANDOM.below(1_000) + RANDOM.below(1_000)) / 1_500 - 1;
}

/** The rise of a heap between two garbage collections, from 0 to 1, with noise. */
function heap(minute: number): number {
  return (minute % 0.7) / 0.7 + 0.75 * noise();
}

test.each<[string, boolean, (minute: number) => number]>([
  ['a single peak', false, (minute) => (minute > 5 && minute < 5.1 ? 500 : 100)],
  ['falling', false, (minute) => 120 - 2 * minute],
  ['certain growth within the limit', false, (minute) => 100 + 0.2 * minute],
  ['one more file', false, (minute) => (minute > 5 ? 31 : 30)],
  ['growth of a heap', true, (minute) => 100 + 2 * minute + 20 * heap(minute)],
  ['one more file a minute', true, (minute) => 20 + Math.floor(minute)],
])('%s: growing is %s', (_title, isExpected, valueAt) => {
  expect(isGrowing(trendOf(valueAt), LIMIT)).toBe(isExpected);
});

test('500 heaps without growth raise no alarm', () => {
  const trends = Array.from({ length: 500 }, () => trendOf((minute) => 100 + 20 * heap(minute)));
  expect(trends.filter((trend) => isGrowing(trend, LIMIT))).toEqual([]);
});

test('finds the true slope within its interval, and only certain growth counts', () => {
  const trend = trendOf((minute) => 100 + 3 * minute + 5 * noise());
  expect(trend.perMinute).toBeCloseTo(3, 0);
  expect(trend.low).toBeLessThan(3);
  expect(trend.high).toBeGreaterThan(3);
  expect(trend.minutes).toBeCloseTo(10, 0);
  expect(isGrowing({ ...trend, low: -0.1 }, LIMIT)).toBe(false);
});
