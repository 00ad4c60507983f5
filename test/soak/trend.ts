import { summarize } from '../bench/statistics.ts';

export type Sample = readonly [minute: number, value: number];

export interface Trend {
  /** The median. */
  readonly level: number;
  /** Growth per minute: the median of the slopes between any two blocks (Theil–Sen). */
  readonly perMinute: number;
  /** The 95 % interval of the true slope (Sen 1968, by the variance of Kendall's tau). */
  readonly low: number;
  readonly high: number;
  /** Minutes between the first and the last sample. */
  readonly minutes: number;
}

/**
 * Successive samples are not independent, because a heap rises and falls with the garbage collector. The
 * medians of this many blocks are independent enough.
 */
const BLOCKS = 20;
/** The 97.5 % quantile of the standard normal distribution. */
const Z = 1.96;

/** Returns the trend of at least 40 samples in ascending order of time. */
export function findTrend(samples: readonly Sample[]): Trend {
  const edge = (block: number) => Math.round((block * samples.length) / BLOCKS);
  const blocks = Array.from({ length: BLOCKS }, (_, block): Sample => {
    const part = samples.slice(edge(block), edge(block + 1));
    return [median(part.map(([minute]) => minute)), median(part.map(([, value]) => value))];
  });
  const slopes = blocks
    .flatMap(([x1, y1], index) => blocks.slice(index + 1).map(([x2, y2]) => (y2 - y1) / (x2 - x1)))
    .toSorted((a, b) => a - b);
  const spread = Z * Math.sqrt((BLOCKS * (BLOCKS - 1) * (2 * BLOCKS + 5)) / 18);
  const slopeAt = (rank: number) => slopes[Math.min(slopes.length - 1, Math.max(0, rank))] ?? Number.NaN;
  return {
    level: median(samples.map(([, value]) => value)),
    perMinute: median(slopes),
    low: slopeAt(Math.floor((slopes.length - spread) / 2)),
    high: slopeAt(Math.ceil((slopes.length + spread) / 2)),
    minutes: (samples.at(-1)?.[0] ?? 0) - (samples[0]?.[0] ?? 0),
  };
}

/** Whether a quantity grows with certainty and faster than the limit. */
export function isGrowing({ perMinute, low }: Omit<Trend, 'minutes'>, limit: number): boolean {
  return low > 0 && perMinute > limit;
}

function median(values: readonly number[]): number {
  return summarize(values).p50;
}
