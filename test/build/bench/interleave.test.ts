import { expect, test } from 'vitest';
import { interleave } from '../../../build/bench/interleave.ts';

test('takes every measurement once a round, each round starting with another one, and drops the warm-up', async () => {
  const calls: string[] = [];
  // The number of the call stands for its duration.
  const measurements = ['a', 'b', 'c'].map((name) => async () => [calls.push(name)]);
  const [a, , c] = await interleave(measurements, 3);
  expect(calls.join('')).toBe('bcaabcbcacab');
  expect([a, c]).toEqual([
    { p50: 9, p99: 11 },
    { p50: 8, p99: 10 },
  ]);
  expect(await interleave([async () => [1, 2]], 1)).toEqual([{ p50: 1, p99: 2 }]);
});
