import type { Column } from './bench.ts';

/** What is told of many measurements of one thing. */
export interface Summary {
  readonly n: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Percentiles by the nearest rank: each is a value that was measured. Throws where nothing was. */
export function summary(values: readonly number[]): Summary {
  if (values.length === 0) throw new Error('Nothing was measured.');
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { n: values.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

/** The columns of a {@link Summary}: how many, and milliseconds with so many decimals. */
export function summaryColumns(digits?: number): readonly Column[] {
  const milliseconds = digits === undefined ? {} : { digits };
  return [
    { key: 'n', heading: 'n' },
    { key: 'p50', heading: 'p50', ...milliseconds },
    { key: 'p90', heading: 'p90', ...milliseconds },
    { key: 'p99', heading: 'p99', ...milliseconds },
  ];
}

/**
 * What the true share may be at most, given `hits` of `n`, with 95 % confidence (upper end of the Wilson score interval, one-sided):
 * none of 10,000 does not say "never".
 */
export function atMost(hits: number, n: number): number {
  const z = 1.6449;
  const share = hits / n;
  const centre = share + z ** 2 / (2 * n);
  const spread = z * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2));
  return (centre + spread) / (1 + z ** 2 / n);
}
