import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkProperty, countRuns } from '../support/check-property.ts';
import { inputsNear } from './inputs.ts';
import { TARGETS } from './targets.ts';

const RUNS = 10_000;
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

    checkProperty(property, RUNS, examples);

    // If all inputs had the same outcome, they would test nothing.
    expect(outcomes.size).toBeGreaterThan(1);
    for (const count of outcomes.values()) expect(count).toBeGreaterThan(countRuns(RUNS) / 1_000);
  },
  HOUR_MS,
);
