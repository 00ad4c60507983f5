import { expect, test } from 'vitest';
import { interleave } from './interleave.ts';

test('takes every measurement once a round, each round starting with another one, and drops the warm-up', async () => {
  const calls: string[] = [];
  // The number of the call stands for its duration.
  const measurements = ['a', 'b', 'c'].map((name) => ({ name, measure: async () => calls.push(name) }));
  const summaries = await interleave(measurements, 3);
  expect(calls.join('')).toBe('bcaabcbcacab');
  expect(summaries.get('a')).toEqual({ n: 3, p50: 9, p90: 11, p99: 11 });
  expect(summaries.get('c')).toEqual({ n: 3, p50: 8, p90: 10, p99: 10 });
  const parallel = await interleave([{ name: 'd', measure: async () => [1, 2] }], 1);
  expect(parallel.get('d')).toEqual({ n: 2, p50: 1, p90: 2, p99: 2 });
});
