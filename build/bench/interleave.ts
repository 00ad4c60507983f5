/** Percentiles by the nearest rank: each is a value that was measured. NaN without a value. */
export function summarize(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { p50: percentile(0.5), p99: percentile(0.99) };
}

/**
 * Takes all measurements in turn, each round starting with another one, so that other work on the machine
 * disturbs all of them alike. Adds a tenth of the rounds as a warm-up, which does not count.
 * @param measurements each returns the milliseconds of its parallel runs
 * @returns a summary for each measurement
 */
export async function interleave(measurements: readonly (() => Promise<readonly number[]>)[], rounds: number) {
  const times = measurements.map((measure) => ({ measure, values: [] as number[] }));
  for (let round = -Math.ceil(rounds / 10); round < rounds; round += 1) {
    const first = Math.abs(round) % times.length;
    for (const { measure, values } of [...times.slice(first), ...times.slice(0, first)]) {
      const ms = await measure();
      if (round >= 0) values.push(...ms);
    }
  }
  return times.map(({ values }) => summarize(values));
}
