import { expect, test } from 'vitest';
import { maxTrueShare, summarize } from './statistics.ts';

test('returns percentiles that were measured, in any order of the values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);

  expect(summarize(values)).toEqual({ n: 100, p50: 50, p90: 90, p99: 99 });
  expect(summarize([7])).toEqual({ n: 1, p50: 7, p90: 7, p99: 7 });
  expect(summarize([3, 1, 2])).toEqual({ n: 3, p50: 2, p90: 3, p99: 3 });
  expect(() => summarize([])).toThrow('Nothing was measured.');
});

// Newcombe, Statistics in Medicine 1998: 17: 857-872, table I, at the z of a one-sided interval.
test('does not take a share that was never seen for zero', () => {
  expect(maxTrueShare(0, 10_000)).toBeCloseTo(0.00027, 5);
  expect(maxTrueShare(8, 500)).toBeCloseTo(0.028, 3);
  expect(maxTrueShare(500, 500)).toBeCloseTo(1, 9);
});
