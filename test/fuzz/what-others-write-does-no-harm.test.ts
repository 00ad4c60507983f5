import { expect, test } from 'vitest';

import { Finding, fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const CASES = 20_000;

test.each(TARGETS)('$name', (target) => {
  const { outcomes } = fuzz(target, { cases: CASES, seed: 7 });
  // Cases that all end alike would test nothing.
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(CASES / 1_000);
});

test('a target that fails is found, and the same case again', () => {
  const fragile = {
    name: 'fragile',
    seeds: [Buffer.from('{"a":1}')],
    take: (bytes: Buffer) => {
      JSON.parse(bytes.toString('utf8'));
      return 'read';
    },
  };
  const once = () => fuzz(fragile, { cases: 100, seed: 3 });
  expect(once).toThrow(Finding);
  let message = '';
  try {
    once();
  } catch (error) {
    message = (error as Error).message;
  }
  expect(once).toThrow(message);
});
