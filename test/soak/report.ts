import type { Environment } from '../bench/environment.ts';
import { formatEnvironment } from '../bench/report.ts';
import { summarize } from '../bench/statistics.ts';
import type { Tally } from './churn.ts';
import type { Observation } from './observation.ts';
import { findTrend, isGrowing, type Tolerance, type Trend } from './trend.ts';

/** What a run has measured. */
export interface SoakRun {
  readonly command: string;
  readonly environment: Environment;
  readonly minutes: number;
  readonly nodes: number;
  /** Duration of the creation of the nodes. */
  readonly setUpSeconds: number;
  readonly tally: Tally;
  /** Cores that the guard used on average. */
  readonly cpu: number;
  readonly observations: readonly Observation[];
}

/** The result of a run, as soak.json holds it. */
export interface SoakReport extends SoakRun {
  readonly trends: readonly TestedTrend[];
}

interface TestedQuantity {
  readonly what: string;
  readonly unit: string;
  readonly tolerance: Tolerance;
}

type TestedTrend = TestedQuantity & Trend & { readonly grows: boolean };

/** V8 takes more memory now and then without a leak. */
const MEMORY = { what: 'resident memory', unit: 'MB', tolerance: { share: 0.05, amount: 5 } };
/** A connection more or less is no leak. */
const FILES = { what: 'open files', unit: 'files', tolerance: { share: 0.1, amount: 4 } };
/** A virtual machine may be half as fast for minutes, because of its neighbors. So the delay is scaled by the speed. */
const DELAY = {
  what: 'delay of the event loop at one speed of the machine',
  unit: 'ms',
  tolerance: { share: 0.5, amount: 10 },
};

/** Tests the second half of a run for growth. In the first half caches fill and the heap finds its size. */
export function createReport(run: SoakRun): SoakReport {
  const { observations } = run;
  const tested = observations.slice(Math.floor(observations.length / 2));
  const usualYardstick = summarize(tested.map(({ yardstick }) => yardstick)).p50;
  const testTrend = (quantity: TestedQuantity, valueOf: (observation: Observation) => number): TestedTrend => {
    const trend = findTrend(tested.map((observation) => [observation.minute, valueOf(observation)]));
    return { ...quantity, ...trend, grows: isGrowing(trend, quantity.tolerance) };
  };
  const trends = [
    testTrend(MEMORY, ({ memory }) => memory),
    testTrend(FILES, ({ files }) => files),
    testTrend(DELAY, ({ delay, yardstick }) => (delay * usualYardstick) / yardstick),
  ];
  return { ...run, trends };
}

/** The reasons why a run has failed, one sentence each. */
export function listFailures({ tally, trends }: SoakReport): readonly string[] {
  const growing = trends.filter(({ grows }) => grows);
  return [
    ...growing.map(({ what, unit, perMinute, low, high }) => {
      const interval = `${low.toFixed(2)} to ${high.toFixed(2)}`;
      return `${what} grows by ${perMinute.toFixed(2)} ${unit} a minute (95 %: ${interval}).`;
    }),
    ...tally.wrong.map((answer) => `Decided wrongly: ${answer}.`),
    ...(tally.undecided === 0 ? [] : [`${tally.undecided} deletions were not decided.`]),
    ...(tally.refused > 0 && tally.deleted > 0 ? [] : ['Nothing was asked, or all answers were the same.']),
  ];
}

/** The report as Markdown. */
export function formatReport(report: SoakReport): string {
  const { command, environment, minutes, nodes, setUpSeconds, tally, trends, cpu } = report;
  const failures = listFailures(report);
  const made = `${nodes.toLocaleString('en-US')} nodes made in ${setUpSeconds} s`;
  const counts: readonly (readonly [string, number])[] = [
    ['deletions of configs in use, refused', tally.refused],
    ['deletions of free configs, gone', tally.deleted],
    ['deletions that nobody decided', tally.undecided],
    ['wrong decisions', tally.wrong.length],
    ['rollouts of a pool', tally.rollouts],
    ['writes of kubelets', tally.statuses],
  ];
  return [
    '# soak',
    '',
    `\`${command}\`, ${formatEnvironment(environment)}; ${made}, then ${minutes} minutes of churn.`,
    '',
    failures.length === 0 ? 'Passed.' : failures.map((failure) => `- ${failure}`).join('\n'),
    '',
    '| second half | median | a minute | 95 % from | to | would fail above | grows |',
    '|---|---:|---:|---:|---:|---:|---|',
    ...trends.map((trend) => formatTrend(trend)),
    '',
    '| what happened | times |',
    '|---|---:|',
    ...counts.map(([what, count]) => `| ${what} | ${count.toLocaleString('en-US')} |`),
    '',
    `The guard took ${(cpu * 100).toFixed(1)} % of a core.`,
    '',
  ].join('\n');
}

function formatTrend({ what, unit, tolerance, grows, level, perMinute, low, high, minutes }: TestedTrend): string {
  const limit = Math.max(tolerance.share * level, tolerance.amount) / minutes;
  const figures = [level, perMinute, low, high, limit].map((value) => value.toFixed(2));
  return `| ${what}, ${unit} | ${figures.join(' | ')} | ${grows ? 'yes' : 'no'} |`;
}
