import { expect, test } from 'vitest';
import { summarize } from './statistics.ts';

test('returns percentiles that were measured, in any order of the values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(summarize(values)).toEqual({ n: 100, p50: 50, p90: 90, p99: 99 });
  expect(summarize([3, 1, 2])).toEqual({ n: 3, p50: 2, p90: 3, p99: 3 });
});
