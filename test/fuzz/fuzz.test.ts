import { expect, test } from 'vitest';
import { Finding, fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const CASES = 20_000;

test.each(TARGETS)('$name reads its seeds and their mutations without harm', (target) => {
  const outcomes = fuzz(target, CASES, 7);
  // If all cases had the same outcome, they would test nothing.
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(CASES / 1_000);
});

test('finds an input that breaks a target, and finds it again', () => {
  const seeds = [Buffer.from('{"a":1}')];
  const run = (bytes: Buffer) => String(JSON.parse(String(bytes)));
  const findInput = () => fuzz({ name: 'fragile', seeds, run }, 100, 7);
  expect(findInput).toThrow(Finding);
  expect(findInput).toThrow(/^fragile, seed 7, case 1: SyntaxError: .*: [\w+/=]+$/s);
});
