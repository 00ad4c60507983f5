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
