import { expect, test } from 'vitest';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/references.ts';
import { isHold } from '../../src/decision/settings.ts';

const HASH = 'a'.repeat(32);

test.each([
  [`rendered-worker-${HASH}`, 'worker'],
  [`rendered-gpu-large-${HASH}`, 'gpu-large'],
  [`my-rendered-worker-${HASH}`, undefined],
  [`rendered-worker-${HASH}-copy`, undefined],
  [`rendered-worker-${HASH.slice(1)}`, undefined],
  [`rendered-${HASH}`, undefined],
])('the pool in %s is %s', (name, pool) => {
  expect(parsePoolName(toConfigName(name))).toBe(pool);
});

test.each(['a', '0', 'a-b.c9', 'x'.repeat(253)])('an object can have the name %j', (name) => {
  expect(isObjectName(name)).toBe(true);
});

test.each(['x'.repeat(254), '', '-a', 'a-', 'a\n', 'A', 'a_b', 'a/b'])('no object can have the name %j', (name) => {
  expect(isObjectName(name)).toBe(false);
});

test.each(['2h', '1h30m', '720h', '2592000s', '100ms'])('%s is a hold', (value) => {
  expect(isHold(value)).toBe(true);
});

test.each(['720h1ms', '1000000000s', '1.5h', 'h', '-1h', '1h ', '1us', '1h1us', ''])('%j is no hold', (value) => {
  expect(isHold(value)).toBe(false);
});
