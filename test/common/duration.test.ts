import { expect, test } from 'vitest';
import { parseDuration } from '../../src/common/duration.ts';

test.each([
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['500ms', 500],
  ['1.5s', 1_500],
  ['0s', 0],
])('parses %s as %d ms', (text, ms) => {
  expect(parseDuration(text)).toBeCloseTo(ms);
});

test.each(['', '5', 's', '-5s', '5 s', '5s!', '5x', `${'1'.repeat(40)}s`, '1e3s'])('does not parse %j', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});
