/** Percentiles of one measured quantity. */
export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/**
 * Percentiles by the nearest rank: each is a value that was measured.
 *
 * @throws Error if there is no value
 */
export function summarize(values: readonly number[]): Summary {
  if (values.length === 0) throw new Error('Nothing was measured.');
  const sorted = values.toSorted((a, b) => a - b);
  const percentile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { n: values.length, p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99) };
}

/**
 * The highest true share that `hits` of `n` allow, with 95 % confidence (upper end of the one-sided Wilson score
 * interval). None of 10,000 does not mean "never".
 */
export function maxTrueShare(hits: number, n: number): number {
  const z = 1.6449;
  const share = hits / n;
  const center = share + z ** 2 / (2 * n);
  const spread = z * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2));
  return (center + spread) / (1 + z ** 2 / n);
}
