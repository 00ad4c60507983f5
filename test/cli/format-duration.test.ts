import { expect, test } from 'vitest';
import { formatAge, formatDuration } from '../../src/cli/format-duration.ts';

test.each([
  [-1, '0s'],
  [9_900, '9s'],
  [125_000, '2m05s'],
  [3_605_000, '1h00m05s'],
])('formats the duration of %i ms as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [119_000, '119s'],
  [7_199_000, '119m'],
  [7_200_000, '2h'],
  [172_800_000, '2d'],
])('formats the age of %i ms as %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
