/** Percentiles of one measured quantity. */
export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Percentiles by the nearest rank: each is a value that was measured. NaN without a value. */
export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { n: values.length, p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99) };
}

export interface Measurement {
  readonly name: string;
  /** Returns milliseconds, or those of parallel runs. */
  readonly measure: () => Promise<number | readonly number[]>;
}

/**
 * Takes all measurements in turn, each round starting with another one, so that other work on the machine
 * disturbs all of them alike. Adds a tenth of the rounds as a warm-up, which does not count.
 */
export async function interleave(
  measurements: readonly Measurement[],
  rounds: number,
): Promise<ReadonlyMap<string, Summary>> {
  const times = new Map(measurements.map(({ name }) => [name, [] as number[]]));
  for (let round = -Math.ceil(rounds / 10); round < rounds; round += 1) {
    const first = Math.abs(round) % measurements.length;
    for (const { name, measure } of [...measurements.slice(first), ...measurements.slice(0, first)]) {
      const ms = await measure();
      if (round >= 0) times.get(name)?.push(...(typeof ms === 'number' ? [ms] : ms));
    }
  }
  return new Map([...times].map(([name, values]) => [name, summarize(values)]));
}

/** @throws Error if the measurement was not taken */
export function getSummary<Found>(summaries: ReadonlyMap<string, Found>, name: string): Found {
  const summary = summaries.get(name);
  if (summary === undefined) throw new Error(`${name} was not measured.`);
  return summary;
}
