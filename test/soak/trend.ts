/** A quantity at a time. */
export type Sample = readonly [minute: number, value: number];

/** Where a quantity is heading. */
export interface Trend {
  /** The value in the middle. */
  readonly level: number;
  /** By how much it grows a minute: the median of the slopes between any two blocks (Theil–Sen). */
  readonly perMinute: number;
  /** Ends of the interval that holds the true slope with 95 % confidence (Sen 1968, by the variance of Kendall's tau). */
  readonly low: number;
  readonly high: number;
  /** Minutes between the first and the last sample. */
  readonly minutes: number;
}

/** Growth that matters: more than this share of the level, and more than this at all. */
export interface Tolerance {
  readonly share: number;
  readonly amount: number;
}

/**
 * Samples that follow each other are alike, since a garbage collector saws: as many independent witnesses they would make anything
 * significant. The medians of so many stretches are witnesses enough.
 */
const BLOCKS = 20;
/** Of the standard normal distribution, for 95 % on both sides. */
const Z = 1.96;

/** The trend of samples in ascending order of time. Throws where they are too few to have one. */
export function trendOf(samples: readonly Sample[]): Trend {
  if (samples.length < 2 * BLOCKS) throw new Error(`${samples.length} samples have no trend: it takes ${2 * BLOCKS}.`);
  const blocks = Array.from({ length: BLOCKS }, (_, block): Sample => {
    const part = samples.slice(...[block, block + 1].map((edge) => Math.round((edge * samples.length) / BLOCKS)));
    return [median(part.map(([minute]) => minute)), median(part.map(([, value]) => value))];
  });
  const slopes = blocks
    .flatMap(([x1, y1], index) => blocks.slice(index + 1).map(([x2, y2]) => (y2 - y1) / (x2 - x1)))
    .toSorted((one, other) => one - other);
  const spread = Z * Math.sqrt((BLOCKS * (BLOCKS - 1) * (2 * BLOCKS + 5)) / 18);
  const at = (rank: number): number => slopes[Math.min(slopes.length - 1, Math.max(0, rank))] ?? Number.NaN;
  return {
    level: median(samples.map(([, value]) => value)),
    perMinute: median(slopes),
    low: at(Math.floor((slopes.length - spread) / 2)),
    high: at(Math.ceil((slopes.length + spread) / 2)),
    minutes: (samples.at(-1)?.[0] ?? 0) - (samples[0]?.[0] ?? 0),
  };
}

/** Does it grow without doubt, and so much that it matters? Either alone is no leak: a long run makes a kilobyte significant. */
export function grows({ level, perMinute, low, minutes }: Trend, { share, amount }: Tolerance): boolean {
  return low > 0 && perMinute * minutes > Math.max(share * level, amount);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}
