import { expect, test } from 'vitest';

import { atMost, summary } from './percentiles.ts';

test('percentiles are measured values, whatever the order', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);

  expect(summary(values)).toEqual({ n: 100, p50: 50, p90: 90, p99: 99 });
  expect(summary([7])).toEqual({ n: 1, p50: 7, p90: 7, p99: 7 });
  expect(summary([3, 1, 2])).toEqual({ n: 3, p50: 2, p90: 3, p99: 3 });
  expect(() => summary([])).toThrow('Nothing was measured.');
});

// Newcombe, Statistics in Medicine 1998: 17: 857-872, table I, at the z of a one-sided interval.
test('what was never seen may still be rare', () => {
  expect(atMost(0, 10_000)).toBeCloseTo(0.00027, 5);
  expect(atMost(8, 500)).toBeCloseTo(0.028, 3);
  expect(atMost(500, 500)).toBeCloseTo(1, 9);
});
