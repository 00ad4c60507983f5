import type { Environment } from '../bench/environment.ts';
import { summary } from '../bench/percentiles.ts';
import type { Observation } from './observation.ts';
import type { Soaked } from './soak.ts';
import { grows, type Tolerance, type Trend, trendOf } from './trend.ts';

/** The outcome of a run, as it is written to soak.json. */
export interface SoakReport {
  readonly command: string;
  readonly environment: Environment;
  readonly minutes: number;
  readonly nodes: number;
  readonly setUpSeconds: number;
  readonly tally: Soaked['tally'];
  readonly trends: readonly TestedTrend[];
  /** Shares of one core: of the guard, and of everything on the machine. */
  readonly cpu: { readonly guard: number; readonly machineP90: number };
  readonly observations: readonly Observation[];
}

interface TestedTrend extends Trend {
  readonly what: string;
  readonly unit: string;
  readonly tolerance: Tolerance;
  readonly grows: boolean;
}

type Quantity = 'memory' | 'files' | 'delay';

/**
 * What must not grow, and how much of it would matter in the half that is tested. V8 takes some more memory now and then without a leak;
 * a connection more or less is no leak of files; the delay hangs on what the machine does besides, and is that of a machine as fast as this
 * one was in the middle: a virtual machine may be half as fast for minutes, because of its neighbours.
 */
const TESTED: Readonly<Record<Quantity, { what: string; unit: string; tolerance: Tolerance }>> = {
  memory: { what: 'resident memory', unit: 'MB', tolerance: { share: 0.05, amount: 5 } },
  files: { what: 'open files', unit: 'files', tolerance: { share: 0.1, amount: 4 } },
  delay: {
    what: 'delay of the event loop at one speed of the machine',
    unit: 'ms',
    tolerance: { share: 0.5, amount: 10 },
  },
};

export interface SoakFacts {
  readonly command: string;
  readonly environment: Environment;
  readonly minutes: number;
  readonly nodes: number;
}

/** What the observations come to. */
export function reportOf(facts: SoakFacts, { observations, tally, setUp }: Soaked): SoakReport {
  // In the first half caches fill, code is compiled and the heap finds its size.
  const tested = observations.slice(Math.floor(observations.length / 2));
  const usual = summary(tested.map((one) => one.yardstick)).p50;
  const atSpeed = ({ delay, yardstick }: Observation): number => (delay * usual) / yardstick;
  const trends = (Object.keys(TESTED) as Quantity[]).map((quantity): TestedTrend => {
    const trend = trendOf(tested.map((one) => [one.minute, quantity === 'delay' ? atSpeed(one) : one[quantity]]));
    return { ...TESTED[quantity], ...trend, grows: grows(trend, TESTED[quantity].tolerance) };
  });
  const cpu = {
    guard: observations.reduce((sum, one) => sum + one.cpu, 0) / observations.length,
    machineP90: summary(observations.map((one) => one.busyCores)).p90,
  };
  return { ...facts, setUpSeconds: Math.round(setUp), tally, trends, cpu, observations };
}

/** Why the run has failed, one sentence each; none where it has not. */
export function failuresOf({ tally, trends }: SoakReport): readonly string[] {
  return [
    ...trends
      .filter((trend) => trend.grows)
      .map(
        ({ what, unit, perMinute, low, high }) =>
          `${what} grows by ${perMinute.toFixed(2)} ${unit} a minute (95 %: ${low.toFixed(2)} to ${high.toFixed(2)}).`,
      ),
    ...tally.wrong.map((one) => `Decided wrongly: ${one}.`),
    ...(tally.undecided === 0 ? [] : [`${tally.undecided} deletions were not decided.`]),
    ...(tally.refused > 0 && tally.deleted > 0 ? [] : ['Nothing was asked, or all answers were the same.']),
  ];
}

/** The same for a person. */
export function asMarkdown(report: SoakReport): string {
  const { command, environment: e, minutes, nodes, setUpSeconds, tally, trends, cpu } = report;
  const failures = failuresOf(report);
  return [
    '# soak',
    '',
    `\`${command}\`, ${e.date.slice(0, 10)}, commit ${e.commit}: Kubernetes ${e.kubernetes}, Node ${e.node}, ${e.cores} cores (${e.cpu}), ` +
      `${e.memoryGiB} GiB, load before ${e.load}; ${nodes.toLocaleString('en-US')} nodes made in ${setUpSeconds} s, then ${minutes} minutes of churn.`,
    '',
    failures.length === 0 ? 'Passed.' : failures.map((failure) => `- ${failure}`).join('\n'),
    '',
    '| second half | median | a minute | 95 % from | to | would fail above | grows |',
    '|---|---:|---:|---:|---:|---:|---|',
    ...trends.map(({ what, unit, level, perMinute, low, high, minutes: over, tolerance, grows: is }) => {
      const limit = Math.max(tolerance.share * level, tolerance.amount) / over;
      const figures = [level, perMinute, low, high, limit].map((value) => value.toFixed(2));
      return `| ${what}, ${unit} | ${figures.join(' | ')} | ${is ? 'yes' : 'no'} |`;
    }),
    '',
    '| what happened | times |',
    '|---|---:|',
    ...[
      ['deletions of configs in use, refused', tally.refused],
      ['deletions of free configs, gone', tally.deleted],
      ['deletions that nobody decided', tally.undecided],
      ['wrong decisions', tally.wrong.length],
      ['rollouts of a pool', tally.rollouts],
      ['writes of kubelets', tally.statuses],
    ].map(([what, times]) => `| ${what} | ${Number(times).toLocaleString('en-US')} |`),
    '',
    `The guard took ${(cpu.guard * 100).toFixed(1)} % of a core; nine of ten times no more than ${cpu.machineP90.toFixed(1)} of ${e.cores} cores were busy.`,
    '',
  ].join('\n');
}
