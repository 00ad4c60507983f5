import { expect, test } from 'vitest';
import { Coverage } from './coverage.ts';
import { Finding, fuzz } from './fuzz.ts';
import { TARGETS } from './targets.ts';

const CASES = 20_000;

test.each(TARGETS)('$name reads its seeds and their mutations without harm', (target) => {
  const { outcomes } = fuzz(target, CASES, 7);
  // If all cases had the same outcome, they would test nothing.
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(CASES / 1_000);
});

test('finds an input that breaks a target, and finds it again', () => {
  const target = {
    name: 'fragile',
    seeds: [Buffer.from('{"a":1}')],
    run: (bytes: Buffer) => typeof JSON.parse(String(bytes)),
  };
  const findMessage = (): string => {
    try {
      return JSON.stringify(fuzz(target, 100, 3));
    } catch (error) {
      return error instanceof Finding ? error.message : '';
    }
  };
  expect(findMessage()).toMatch(/^fragile, seed 3, case \d+: SyntaxError: .*: [\w+/=]+$/s);
  expect(findMessage()).toBe(findMessage());
});

test('returns inputs that reach new code', () => {
  const coverage = new Coverage();
  const target = TARGETS.find(({ name }) => name === 'review')!;
  const { found } = fuzz({ ...target, seeds: target.seeds.slice(0, 1) }, 3_000, 1, coverage);
  coverage.stop();
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(100);
});
