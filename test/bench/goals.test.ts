import { expect, test } from 'vitest';

import { goalTable } from './goals.ts';

test('a goal is reached by what is not above it, and a missed one is said to be', () => {
  const { rows } = goalTable('Goals', [
    { what: 'below', found: 0.2, atMost: 0.25 },
    { what: 'exactly', found: 3, atMost: 3 },
    { what: 'above', found: 0.26, atMost: 0.25 },
    { what: 'nothing measured', found: Number.NaN, atMost: 1 },
  ]);

  expect(rows.map(({ what, reached }) => [what, reached])).toEqual([
    ['below', 'yes'],
    ['exactly', 'yes'],
    ['above', 'no'],
    ['nothing measured', 'no'],
  ]);
});
