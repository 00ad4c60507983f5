import { expect, test } from 'vitest';
import { AddressLimiter } from '../../src/webhook/address-limiter.ts';

test('limits each address by itself', () => {
  let now = 0;
  const limiter = new AddressLimiter(2, 1_000, () => now);
  const acquire = (address: string) => [1, 2, 3].map(() => limiter.tryAcquire(address));
  expect(acquire('10.0.0.1')).toEqual([true, true, false]);
  expect(acquire('10.0.0.2')).toEqual([true, true, false]);
  now += 1_000;
  expect(acquire('10.0.0.1')).toEqual([true, false, false]);
});
