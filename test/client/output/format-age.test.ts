import { expect, test } from 'vitest';
import { formatAge } from '../../../src/client/output/format-age.ts';

test.each([
  [-1, '0s'],
  [119_000, '119s'],
  [7_199_000, '119m'],
  [7_200_000, '2h'],
  [172_800_000, '2d'],
])('formats the age of %i ms as %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
