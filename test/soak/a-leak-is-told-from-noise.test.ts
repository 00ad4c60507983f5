import { describe, expect, test } from 'vitest';

import type { Environment } from '../bench/environment.ts';
import { Random } from '../simulation/random.ts';
import type { Tally } from './churn.ts';
import type { Observation } from './observation.ts';
import { reportOf } from './report.ts';
import { grows, type Sample, trendOf } from './trend.ts';

const TOLERANCE = { share: 0.05, amount: 4 };
const random = new Random(7);

/** Ten minutes, a sample every two seconds. */
function series(valueAt: (minute: number) => number): readonly Sample[] {
  return Array.from({ length: 300 }, (_, index): Sample => [index / 30, valueAt(index / 30)]);
}

/** Between -1 and 1, most often near 0. */
function noise(): number {
  return (random.below(1_000) + random.below(1_000) + random.below(1_000)) / 1_500 - 1;
}

/** What a heap does between two collections. */
function saw(minute: number): number {
  return (minute % 0.7) / 0.7;
}

describe('no leak', () => {
  test.each<[string, (minute: number) => number]>([
    ['flat', () => 100],
    ['nothing at all', () => 0],
    ['noisy', () => 100 + 10 * noise()],
    ['a heap that saws', (minute) => 100 + 30 * saw(minute)],
    ['a heap that saws and is noisy', (minute) => 100 + 30 * saw(minute) + 5 * noise()],
    ['a single high peak', (minute) => (minute > 5 && minute < 5.1 ? 500 : 100)],
    ['falling', (minute) => 120 - 2 * minute],
    ['growth that is certain and does not matter', (minute) => 100 + 0.2 * minute],
    ['one more file', (minute) => (minute > 5 ? 31 : 30)],
  ])('%s', (_title, valueAt) => {
    expect(grows(trendOf(series(valueAt)), TOLERANCE)).toBe(false);
  });

  test('noise is hardly ever taken for one: not in 500 runs', () => {
    const alarms = Array.from({ length: 500 }, () =>
      trendOf(series((minute) => 100 + 20 * saw(minute) + 15 * noise())),
    );
    expect(alarms.filter((trend) => grows(trend, TOLERANCE))).toEqual([]);
  });
});

describe('a leak', () => {
  test.each<[string, (minute: number) => number]>([
    ['steady', (minute) => 100 + minute],
    ['in noise', (minute) => 100 + 2 * minute + 5 * noise()],
    ['under a heap that saws', (minute) => 100 + 2 * minute + 30 * saw(minute) + 5 * noise()],
    ['in steps', (minute) => 100 + 5 * Math.floor(minute / 2)],
    ['of files, one a minute', (minute) => 20 + Math.floor(minute)],
  ])('%s', (_title, valueAt) => {
    expect(grows(trendOf(series(valueAt)), TOLERANCE)).toBe(true);
  });
});

test('the slope is the true one, and inside its interval', () => {
  const trend = trendOf(series((minute) => 100 + 3 * minute + 5 * noise()));
  expect(trend.perMinute).toBeGreaterThan(2.5);
  expect(trend.perMinute).toBeLessThan(3.5);
  expect(trend.low).toBeLessThan(3);
  expect(trend.high).toBeGreaterThan(3);
  expect(trend.minutes).toBeCloseTo(10, 0);
});

test('of a flat series the interval holds 0', () => {
  const { low, high } = trendOf(series(() => 100 + 5 * noise()));
  expect(low).toBeLessThan(0);
  expect(high).toBeGreaterThan(0);
});

test('too few samples have no trend', () => {
  expect(() => trendOf(series(() => 1).slice(0, 39))).toThrow('39 samples have no trend: it takes 40.');
});

/** Does it grow, where machine and guard are so much slower in the last quarter? */
function delayGrows(slowerBy: { readonly machine: number; readonly guard: number }): boolean {
  const observations = Array.from({ length: 600 }, (_, index): Observation => {
    const isLate = index > 450;
    const delay = (12 + 3 * noise()) * (isLate ? slowerBy.guard : 1);
    const yardstick = (2 + 0.3 * noise()) * (isLate ? slowerBy.machine : 1);
    return { minute: index / 30, memory: 100, files: 30, delay, yardstick, cpu: 0.1, busyCores: 0.5 };
  });
  const tally: Tally = { refused: 1, deleted: 1, undecided: 0, wrong: [], statuses: 1, rollouts: 1 };
  const facts = { command: '', environment: {} as Environment, minutes: 20, nodes: 1 };
  const { trends } = reportOf(facts, { observations, tally, setUp: 1 });
  return trends.some((trend) => trend.what.startsWith('delay') && trend.grows);
}

describe('the delay, on a machine that becomes half as fast', () => {
  test('is not that of the guard', () => {
    expect(delayGrows({ machine: 2.5, guard: 2.5 })).toBe(false);
  });

  test('is told from a guard that becomes slower', () => {
    expect(delayGrows({ machine: 1, guard: 2.5 })).toBe(true);
    expect(delayGrows({ machine: 2, guard: 5 })).toBe(true);
  });
});
