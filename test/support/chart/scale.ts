/** One of the two axes of a chart. */
export interface Axis {
  /** What is measured and its unit: `resident memory, MiB`. */
  readonly label: string;
  /** Each step the same factor rather than the same difference. Default false. */
  readonly log?: boolean;
  /** Where it begins at the latest. Default 0, because a cut-off axis makes small differences look large; unused where `log`. */
  readonly from?: number;
  /** How far it reaches at least. */
  readonly to?: number;
}

/** Where the values of an axis are. */
export interface Scale {
  /** Values at which the axis is labelled, in ascending order. The first is its beginning, the last its end. */
  readonly ticks: readonly number[];
  /** Where a value is, as a share of the axis: 0 at its beginning, 1 at its end. */
  readonly share: (value: number) => number;
}

/** An axis is labelled at about so many values. */
const STEPS = 5;

/**
 * The scale on which all of these values have their place. Throws where a logarithmic one is to show a value that is not above 0,
 * and where there is no value.
 */
export function scaleOf(axis: Axis, values: readonly number[]): Scale {
  if (values.length === 0 || !values.every(Number.isFinite))
    throw new Error(`${axis.label}: nothing that can be drawn.`);
  // Not Math.min(...values): a long run has more samples than a call may have arguments.
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b), axis.to ?? Number.NEGATIVE_INFINITY);
  return axis.log === true ? logarithmic(axis.label, low, high) : linear(Math.min(low, axis.from ?? 0), high);
}

/** A number as an axis is labelled with it: `12,000`, `0.25`. */
export function plain(value: number): string {
  return Number(value.toPrecision(12)).toLocaleString('en-US', { maximumFractionDigits: 9 });
}

function linear(low: number, high: number): Scale {
  const step = roundStep((high - low) / STEPS || 1);
  const [first, last] = [Math.floor(low / step), Math.max(Math.ceil(high / step), Math.floor(low / step) + 1)];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return { ticks, share: (value) => (value / step - first) / (last - first) };
}

/** The next of 1, 2, 5, 10, 20, … */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const digit = [1, 2, 5].find((one) => one * power >= atLeast * (1 - 1e-9)) ?? 10;
  return digit * power;
}

function logarithmic(label: string, low: number, high: number): Scale {
  if (low <= 0) throw new Error(`${label}: ${low} has no place on a logarithmic axis.`);
  // Never an empty bar: the smallest value is above the beginning of the axis.
  const first = Math.ceil(Math.log10(low) - 1e-9) - 1;
  const last = Math.max(Math.ceil(Math.log10(high) - 1e-9), first + 1);
  const digits = last - first > 2 ? [1] : [1, 2, 5];
  const decades = Array.from({ length: last - first }, (_, index) => 10 ** (first + index));
  const ticks = [...decades.flatMap((decade) => digits.map((digit) => digit * decade)), 10 ** last];
  return { ticks, share: (value) => (Math.log10(value) - first) / (last - first) };
}
