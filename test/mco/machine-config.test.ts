import { expect, test } from 'vitest';
import { parsePoolName, toConfigName } from '../../src/mco/machine-config.ts';

const HASH = 'a'.repeat(32);

test.each([
  [`rendered-worker-${HASH}`, 'worker'],
  [`rendered-gpu-large-${HASH}`, 'gpu-large'],
  [`my-rendered-worker-${HASH}`, undefined],
  [`rendered-worker-${HASH}-copy`, undefined],
  [`rendered-${HASH}`, undefined],
])('the pool in %s is %s', (name, pool) => {
  expect(parsePoolName(toConfigName(name))).toBe(pool);
});
