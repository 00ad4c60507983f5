import { summarize } from '../bench/interleave.ts';
import { formatNumber, formatTable } from '../bench/report.ts';

export interface SoakRun {
  /** At equal intervals: resident memory in MB, and open files with sockets. */
  readonly observations: readonly { readonly memory: number; readonly files: number }[];
  /** How often what happened. */
  readonly counts: Readonly<Record<string, number>>;
  /** Answers that were wrong or missing. */
  readonly faults: readonly string[];
  /**
   * Milliseconds for which one turn held the guard's event loop, and the most that the guard itself worked in one.
   * In the rest, other processes had the machine.
   */
  readonly longest: { readonly held: number; readonly worked: number };
}

/** The tolerated growth: this share of the level before or this amount, whichever is larger. */
const QUANTITIES = [
  // V8 takes more memory now and then without a leak.
  { what: 'resident memory, MB', key: 'memory', share: 0.05, amount: 5 },
  { what: 'open files', key: 'files', share: 0.1, amount: 4 },
] as const;
/** For longer, no piece of work may hold the event loop. */
const MAX_WORK_MS = 20;

export function formatTables({ observations, counts, longest }: SoakRun): string {
  const growth = findGrowth(observations).map(({ what, before, after, limit }) => {
    return [what, ...[before, after, limit].map((value) => formatNumber(value, 1))];
  });
  const turns = {
    'longest turn of the event loop, ms': longest.held,
    'most work of the guard in one turn, ms': longest.worked,
  };
  const work = Object.entries({ ...counts, ...turns }).map(([what, value]) => [what, formatNumber(value)]);
  const growthTable = formatTable(['median', 'second quarter', 'last quarter', 'fails above'], growth);
  return `${growthTable}\n${formatTable(['what happened', 'number'], work)}`;
}

/** Compares medians, because a heap rises and falls. In the first quarter caches fill and the heap finds its size. */
function findGrowth(observations: SoakRun['observations']) {
  const quarter = Math.floor(observations.length / 4);
  return QUANTITIES.map(({ what, key, share, amount }) => {
    const medianOf = (part: typeof observations) => summarize(part.map(({ [key]: value }) => value)).p50;
    const before = medianOf(observations.slice(quarter, 2 * quarter));
    const after = medianOf(observations.slice(3 * quarter));
    return { what, before, after, limit: before + Math.max(share * before, amount) };
  });
}

/** The reasons why a run has failed. */
export function listFailures({ observations, faults, longest }: SoakRun): readonly string[] {
  const growing = findGrowth(observations).filter(({ after, limit }) => after > limit);
  return [
    ...growing.map(({ what }) => `${what}: grows`),
    ...faults,
    ...(longest.worked <= MAX_WORK_MS ? [] : [`one piece of work took ${longest.worked.toFixed(0)} ms`]),
  ];
}
