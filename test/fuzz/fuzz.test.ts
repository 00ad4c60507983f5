import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { inputsNear } from './inputs.ts';
import { TARGETS } from './targets.ts';

/** `npm run fuzz` sets more of them, and then the seed is another one in each run. */
const { FUZZ_CASES, FUZZ_SEED = FUZZ_CASES === undefined ? 7 : Date.now() } = process.env;
const CASES = Number(FUZZ_CASES ?? 10_000);
const HOUR_MS = 3_600_000;

test.each(TARGETS)(
  '$name reads its seeds and inputs near them without harm',
  ({ seeds, run }) => {
    const outcomes = new Map<string, number>();
    const property = fc.property(inputsNear(seeds), fc.nat(1_000), (input, chunk) => {
      const outcome = run(input, chunk);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    });
    const examples = seeds.map((seed): [Buffer, number] => [seed, 7]);

    // A failure prints the seed, and the smallest input.
    fc.assert(property, { numRuns: CASES, seed: Number(FUZZ_SEED), examples });

    // If all inputs had the same outcome, they would test nothing.
    expect(outcomes.size).toBeGreaterThan(1);
    for (const count of outcomes.values()) expect(count).toBeGreaterThan(CASES / 1_000);
  },
  HOUR_MS,
);
