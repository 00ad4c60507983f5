import { summarize } from '../bench/statistics.ts';
import { createColumns, type Row, type Table } from '../bench/table.ts';
import type { Churn } from './churn.ts';
import type { Observation } from './observation.ts';
import { findTrend, isGrowing } from './trend.ts';

export interface SoakRun {
  readonly tally: Churn['tally'];
  /** Cores that the guard used on average. */
  readonly cpu: number;
  /**
   * Milliseconds for which one turn held the guard's event loop, and the most that the guard itself worked in one.
   * In the rest, other processes had the machine.
   */
  readonly longest: { readonly held: number; readonly worked: number };
  readonly observations: readonly Observation[];
}

interface Quantity {
  readonly what: string;
  /** The tolerated growth: this share of the median or this amount, whichever is larger. */
  readonly share: number;
  readonly amount: number;
  readonly valueOf: (observation: Observation) => number;
}

/** For longer, no piece of work may hold the event loop. */
const MAX_WORK_MS = 20;

const TREND_COLUMNS = [
  ...createColumns({ what: 'second half' }),
  ...createColumns({ level: 'median', perMinute: 'a minute' }, 2),
  ...createColumns({ low: '95 % from', high: 'to', limit: 'fails above' }, 2),
  ...createColumns({ grows: 'grows' }),
];

export function createTables({ observations, tally, cpu, longest }: SoakRun): readonly Table[] {
  const counts = {
    'deletions of configs in use, denied': tally.denied,
    'deletions of unused configs, allowed': tally.allowed,
    'deletions without a decision': tally.undecided,
    'wrong decisions': tally.wrong.length,
    'rollouts of a pool': tally.rollouts,
    'writes of kubelets': tally.statuses,
  };
  const rows = Object.entries(counts).map(([what, count]) => ({ what, count }));
  const notes = [
    `The guard took ${(cpu * 100).toFixed(1)} % of a core.`,
    `Its event loop was held for at most ${longest.held.toFixed(0)} ms,` +
      ` by its own work for at most ${longest.worked.toFixed(0)} ms.`,
    ...tally.wrong,
  ];
  return [
    { title: 'Growth', columns: TREND_COLUMNS, rows: createTrendRows(observations), notes: [] },
    { title: 'Churn', columns: createColumns({ what: 'what happened', count: 'times' }), rows, notes },
  ];
}

/** Tests the second half of a run. In the first half caches fill and the heap finds its size. */
function createTrendRows(observations: readonly Observation[]): readonly Row[] {
  const tested = observations.slice(Math.floor(observations.length / 2));
  const usualYardstick = summarize(tested.map(({ yardstick }) => yardstick)).p50;
  const quantities: readonly Quantity[] = [
    // V8 takes more memory now and then without a leak.
    { what: 'resident memory, MB', share: 0.05, amount: 5, valueOf: ({ memory }) => memory },
    { what: 'open files', share: 0.1, amount: 4, valueOf: ({ files }) => files },
    {
      what: 'delay of the event loop at constant machine speed, ms',
      share: 0.5,
      amount: 10,
      // A virtual machine may be half as fast for minutes.
      valueOf: ({ delay, yardstick }) => (delay * usualYardstick) / yardstick,
    },
  ];
  return quantities.map(({ what, share, amount, valueOf }) => {
    const { minutes, ...trend } = findTrend(tested.map((one) => [one.minute, valueOf(one)]));
    const limit = Math.max(share * trend.level, amount) / minutes;
    return { what, ...trend, limit, grows: isGrowing(trend, limit) ? 'yes' : 'no' };
  });
}

/** The reasons why a run has failed. */
export function listFailures({ tally, longest }: SoakRun, tables: readonly Table[]): readonly string[] {
  const growing = tables.flatMap(({ rows }) => rows.filter(({ grows }) => grows === 'yes'));
  return [
    ...growing.map(({ what }) => `${what}: grows`),
    ...tally.wrong.map((answer) => `decided wrongly: ${answer}`),
    ...(tally.undecided === 0 ? [] : [`${tally.undecided} deletions were not decided`]),
    ...(longest.worked <= MAX_WORK_MS ? [] : [`one piece of work took ${longest.worked.toFixed(0)} ms`]),
    ...(tally.denied > 0 && tally.allowed > 0 ? [] : ['no deletion was denied, or none was allowed']),
  ];
}
