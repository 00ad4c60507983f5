import { summarize, type Summary } from './statistics.ts';

/** One of several alternatives that are compared. */
export interface Measurement {
  readonly name: string;
  /** Does the work once and returns its duration in milliseconds, or the durations of parallel runs. */
  readonly measure: () => Promise<number | readonly number[]>;
}

/**
 * Takes all measurements in turn, each round starting with another one, and summarizes them by name. Other work on
 * the machine disturbs all of them alike, so their ratios hold nevertheless. A warm-up of a tenth of the rounds does
 * not count.
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

/** Milliseconds that some work takes. */
export async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
