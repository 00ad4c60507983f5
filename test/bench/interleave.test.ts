import { expect, test } from 'vitest';

import { interleave } from './interleave.ts';

test('every contestant has its turn in every round, none is always first, and warming up does not count', async () => {
  const calls: string[] = [];
  const contestant = (name: string) => ({
    name,
    once: async () => calls.push(name),
  });

  const measured = await interleave([contestant('a'), contestant('b'), contestant('c')], { rounds: 3, warmUp: 1 });

  expect(calls.join('')).toBe('bcaabcbcacab');
  // The number of the call stands for its duration.
  expect(Object.fromEntries(measured)).toEqual({ a: [4, 9, 11], b: [5, 7, 12], c: [6, 8, 10] });
});

test('a turn may have several times', async () => {
  const measured = await interleave([{ name: 'a', once: async () => [1, 2] }], { rounds: 2, warmUp: 0 });

  expect(measured.get('a')).toEqual([1, 2, 1, 2]);
});
