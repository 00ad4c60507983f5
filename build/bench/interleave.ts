import { createRandom } from '../../test/support/random.ts';

/** Percentiles by the nearest rank: each is a value that was measured. NaN without a value. */
export function summarize(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { p50: percentile(0.5), p99: percentile(0.99) };
}

/**
 * Takes all measurements in each round, so that other work on the machine disturbs all of them alike. Their order is
 * random, but the same in each run: a measurement leaves work to the API server, such as garbage, and must not always
 * leave it to the same other one. Adds a tenth of the rounds as a warm-up, which does not count.
 * @param measurements each returns the milliseconds of its parallel runs
 * @returns a summary for each measurement
 */
export async function interleave(measurements: readonly (() => Promise<readonly number[]>)[], rounds: number) {
  const times = measurements.map((measure) => ({ measure, values: [] as number[] }));
  const random = createRandom(rounds);
  for (let round = -Math.ceil(rounds / 10); round < rounds; round += 1) {
    const order = times.map((time) => ({ ...time, key: random() })).toSorted((a, b) => a.key - b.key);
    for (const { measure, values } of order) {
      const ms = await measure();
      if (round >= 0) values.push(...ms);
    }
  }
  return times.map(({ values }) => summarize(values));
}
