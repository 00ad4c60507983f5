import { expect, test } from 'vitest';
import { Random } from '../simulation/random.ts';
import { findTrend, isGrowing, type Sample, type Trend } from './trend.ts';

const TOLERANCE = { share: 0.05, amount: 4 };
const RANDOM = new Random(7);

/** The trend of ten minutes with a sample every two seconds. */
function trendOf(valueAt: (minute: number) => number): Trend {
  return findTrend(Array.from({ length: 300 }, (_, index): Sample => [index / 30, valueAt(index / 30)]));
}

/** Between -1 and 1, most often near 0. */
function noise(): number {
  return (RANDOM.below(1_000) + RANDOM.below(1_000) + RANDOM.below(1_000)) / 1_500 - 1;
}

/** The rise of a heap between two garbage collections, from 0 to 1. */
function sawtooth(minute: number): number {
  return (minute % 0.7) / 0.7;
}

test.each<[string, boolean, (minute: number) => number]>([
  ['flat', false, () => 100],
  ['zero', false, () => 0],
  ['noisy', false, () => 100 + 10 * noise()],
  ['a noisy sawtooth', false, (minute) => 100 + 30 * sawtooth(minute) + 5 * noise()],
  ['a single peak', false, (minute) => (minute > 5 && minute < 5.1 ? 500 : 100)],
  ['falling', false, (minute) => 120 - 2 * minute],
  ['certain growth within the tolerance', false, (minute) => 100 + 0.2 * minute],
  ['one more file', false, (minute) => (minute > 5 ? 31 : 30)],
  ['steady growth', true, (minute) => 100 + minute],
  ['growth in noise', true, (minute) => 100 + 2 * minute + 5 * noise()],
  ['growth of a noisy sawtooth', true, (minute) => 100 + 2 * minute + 30 * sawtooth(minute) + 5 * noise()],
  ['growth in steps', true, (minute) => 100 + 5 * Math.floor(minute / 2)],
  ['one more file a minute', true, (minute) => 20 + Math.floor(minute)],
])('%s: growing is %s', (_title, isExpected, valueAt) => {
  expect(isGrowing(trendOf(valueAt), TOLERANCE)).toBe(isExpected);
});

test('500 noisy series without growth raise no alarm', () => {
  const trends = Array.from({ length: 500 }, () => trendOf((minute) => 100 + 20 * sawtooth(minute) + 15 * noise()));
  expect(trends.filter((trend) => isGrowing(trend, TOLERANCE))).toEqual([]);
});

test('finds the true slope within its interval', () => {
  const { perMinute, low, high, minutes } = trendOf((minute) => 100 + 3 * minute + 5 * noise());
  expect(perMinute).toBeCloseTo(3, 0);
  expect(low).toBeLessThan(3);
  expect(high).toBeGreaterThan(3);
  expect(minutes).toBeCloseTo(10, 0);
});

test('growth beyond the tolerance counts only if it is certain', () => {
  const trend = { level: 100, perMinute: 1, low: 0.1, high: 2, minutes: 10 };
  expect(isGrowing(trend, TOLERANCE)).toBe(true);
  expect(isGrowing({ ...trend, low: -0.1 }, TOLERANCE)).toBe(false);
});

test('throws if there are too few samples', () => {
  const samples = Array.from({ length: 39 }, (_, index): Sample => [index, 1]);
  expect(() => findTrend(samples)).toThrow('39 samples have no trend: it takes 40.');
});
