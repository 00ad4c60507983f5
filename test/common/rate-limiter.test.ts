import { expect, test } from 'vitest';
import { RateLimiter } from '../../src/common/rate-limiter.ts';

test('allows a burst at once and then one call per interval, however long the pause', () => {
  let now = 0;
  const limiter = new RateLimiter(3, 100, () => now);
  const countAllowed = () => Array.from({ length: 10 }, () => limiter.tryAcquire()).filter(Boolean).length;
  expect(countAllowed()).toBe(3);
  now += 50;
  expect(countAllowed()).toBe(0);
  now += 50;
  expect(countAllowed()).toBe(1);
  now += 60_000;
  expect(countAllowed()).toBe(3);
});
