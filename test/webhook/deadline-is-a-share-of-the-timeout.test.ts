import { expect, test } from 'vitest';
import { computeDeadlineMs } from '../../src/webhook/deadline.ts';

test('an answer is due within 80 % of what the API server waits', () => {
  for (const seconds of [1, 5, 10, 30]) {
    const within = computeDeadlineMs(`${seconds}s`);
    expect(within).toBeLessThan(seconds * 800);
    expect(within).toBeGreaterThan(seconds * 700);
  }
});

test.each([[undefined], [''], ['x'], ['0s'], [['5s', '1s']]])(
  'without a usable timeout (%j) the API default of 10 s holds',
  (timeout) => {
    expect(computeDeadlineMs(timeout)).toBe(computeDeadlineMs('10s'));
  },
);

test('no timeout is longer than the longest that a webhook can have', () => {
  expect(computeDeadlineMs('999h')).toBe(computeDeadlineMs('30s'));
});
