import { expect, test } from 'vitest';

import { BadReview, parseReview } from '../../src/webhook/parse-review.ts';
import { Random } from '../simulation/random.ts';
import { reviewBody } from '../support/review.ts';
import { Coverage } from './coverage.ts';
import { fuzz } from './fuzz.ts';
import { keptSeeds } from './seeds.ts';
import { restructured } from './structure.ts';
import { TARGETS } from './targets.ts';

const REVIEW = JSON.stringify(reviewBody());
const STEPS = 5;

/** Goes a step further for each of these tokens in its input: all at once come by chance in no lifetime. */
function ladder() {
  let reached = new Set<string>();
  const target = {
    name: 'ladder',
    seeds: [Buffer.from('{}')],
    take: (bytes: Buffer) => {
      const step = Math.min(STEPS, bytes.toString('latin1').split('1e999').length - 1);
      for (let one = 0; one <= step; one += 1) reached.add(`step ${one}`);
      return `step ${step}`;
    },
  };
  const known = new Set<string>();
  const taken = (): readonly string[] => {
    const all = [...reached];
    reached = new Set();
    return all;
  };
  const coverage = {
    look: () => {
      const fresh = taken().filter((block) => !known.has(block));
      for (const block of fresh) known.add(block);
      return fresh;
    },
    among: (blocks: ReadonlySet<string>) => taken().filter((block) => blocks.has(block)),
  };
  return { target, coverage };
}

test('what gets further than anything before is what is mutated next', () => {
  const { target, coverage } = ladder();
  const { outcomes, found } = fuzz(target, { cases: 20_000, seed: 1, coverage });
  expect(Object.keys(outcomes)).toContain(`step ${STEPS}`);
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThanOrEqual(STEPS);
  // The same without: nowhere near.
  expect(Object.keys(fuzz(target, { cases: 20_000, seed: 1 }).outcomes)).not.toContain(`step ${STEPS}`);
});

test('V8 says which blocks of the sources have run, each once', () => {
  const coverage = new Coverage();
  try {
    parseReview(Buffer.from(REVIEW));
    coverage.look();
    parseReview(Buffer.from(REVIEW));
    expect(coverage.look()).toEqual([]);
    expect(() => parseReview(Buffer.from('{"kind":tru}'))).toThrow(BadReview);
    const fresh = coverage.look();
    expect(fresh.join(' ')).toContain('/src/webhook/json-outline.ts');
    expect(coverage.among(new Set(fresh))).toEqual([]);
    expect(() => parseReview(Buffer.from('{"kind":tru}'))).toThrow(BadReview);
    expect(coverage.among(new Set(fresh)).length).toBeGreaterThan(0);
  } finally {
    coverage.stop();
  }
});

test('a text that was restructured is JSON nearly always, and another one', () => {
  const random = new Random(1);
  const texts = Array.from({ length: 2_000 }, () => restructured(REVIEW, '{"other":[1,{"a":"b"}]}', random));
  const readable = texts.filter((text) => {
    try {
      return typeof JSON.parse(text) === 'object';
    } catch {
      return false;
    }
  });
  expect(readable.length).toBeGreaterThan(1_800);
  expect(new Set(readable).size).toBeGreaterThan(500);
  expect(readable.some((text) => /"oldObject".*"oldObject"/.test(text))).toBe(true);
  expect(readable.some((text) => text.includes('\\u006f'))).toBe(true);
});

test.each(TARGETS)('$name: inputs that once got further are kept, and do no harm', ({ name, seeds, take }) => {
  const kept = keptSeeds(name);
  expect(kept.length).toBeGreaterThan(0);
  const random = new Random(1);
  expect(new Set(seeds.map((bytes) => take(bytes, random))).size).toBeGreaterThan(1);
});
