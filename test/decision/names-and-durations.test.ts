import { expect, test } from 'vitest';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/config-name.ts';
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

test.each([
  ['a', true],
  ['0', true],
  ['a-b.c9', true],
  ['x'.repeat(253), true],
  ['x'.repeat(254), false],
  ['', false],
  ['-a', false],
  ['a-', false],
  ['a\n', false],
  ['A', false],
  ['a_b', false],
  ['a/b', false],
])('%j is a name of an object: %s', (name, expected) => {
  expect(isObjectName(name)).toBe(expected);
});

test.each([
  ['2h', true],
  ['1h30m', true],
  ['720h', true],
  ['2592000s', true],
  ['100ms', true],
  ['720h1ms', false],
  ['1000000000s', false],
  ['1.5h', false],
  ['h', false],
  ['-1h', false],
  ['1h ', false],
  ['1us', false],
  ['1h1us', false],
  ['', false],
])('the API server accepts the hold %j: %s', (value, expected) => {
  expect(isHold(value)).toBe(expected);
});
