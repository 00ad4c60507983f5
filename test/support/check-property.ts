import * as fc from 'fast-check';

/** `npm run fuzz` sets more runs, and then the seed is another one each time. A failure prints it. */
const { FUZZ_RUNS, FUZZ_SEED = FUZZ_RUNS === undefined ? 7 : Date.now() } = process.env;

/** The number of inputs for which a property is checked. */
export function countRuns(runs: number): number {
  return Number(FUZZ_RUNS ?? runs);
}

/** @throws Error with the seed and the smallest input for which the property does not hold */
export function checkProperty<Inputs>(property: fc.IProperty<Inputs>, runs: number, examples: Inputs[] = []): void {
  fc.assert(property, { numRuns: countRuns(runs), seed: Number(FUZZ_SEED), examples });
}
