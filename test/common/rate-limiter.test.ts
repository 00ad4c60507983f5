import { expect, test } from 'vitest';
import { RateLimiter } from '../../src/common/rate-limiter.ts';

test('allows each key a burst at once and then one call per interval, however long the pause', () => {
  let now = 0;
  const limiter = new RateLimiter(3, 100, () => now);
  const countAllowed = (key?: string) =>
    Array.from({ length: 10 }, () => limiter.tryAcquire(key)).filter(Boolean).length;
  expect(countAllowed()).toBe(3);
  expect(countAllowed('10.0.0.1')).toBe(3);
  now += 50;
  expect(countAllowed()).toBe(0);
  now += 50;
  expect(countAllowed()).toBe(1);
  now += 60_000;
  expect([countAllowed(), countAllowed('10.0.0.1')]).toEqual([3, 3]);
});
