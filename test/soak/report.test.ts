import { expect, test } from 'vitest';
import type { Environment } from '../bench/environment.ts';
import type { Observation } from './observation.ts';
import { createReport, listFailures } from './report.ts';

const TALLY = { refused: 1, deleted: 1, undecided: 0, wrong: [], statuses: 1, rollouts: 1 };
const RUN = { command: '', environment: {} as Environment, minutes: 20, nodes: 1, setUpSeconds: 1, cpu: 0.1 };

/** Observations of a run in whose last quarter the guard and the machine are slower by these factors. */
function observe(guardFactor: number, machineFactor: number): readonly Observation[] {
  return Array.from({ length: 600 }, (_, index): Observation => {
    const isLate = index > 450;
    const delay = (12 + 3 * Math.sin(index ** 2)) * (isLate ? guardFactor : 1);
    const yardstick = (2 + 0.3 * Math.sin(index ** 3)) * (isLate ? machineFactor : 1);
    return { minute: index / 30, memory: 100, files: 30, delay, yardstick };
  });
}

test.each([
  { guardFactor: 1, machineFactor: 1, isFailure: false },
  { guardFactor: 2.5, machineFactor: 2.5, isFailure: false },
  { guardFactor: 2.5, machineFactor: 1, isFailure: true },
  { guardFactor: 5, machineFactor: 2, isFailure: true },
])('guard $guardFactor times slower on a machine $machineFactor times slower: failure $isFailure', (one) => {
  const report = createReport({ ...RUN, tally: TALLY, observations: observe(one.guardFactor, one.machineFactor) });
  expect(listFailures(report)).toEqual(one.isFailure ? [expect.stringMatching(/^delay .* grows by/)] : []);
});

test.each([
  { change: { wrong: ['rendered-x (used): 200'] }, failure: 'Decided wrongly: rendered-x (used): 200.' },
  { change: { undecided: 2 }, failure: '2 deletions were not decided.' },
  { change: { refused: 0 }, failure: 'Nothing was asked, or all answers were the same.' },
])('fails on $failure', ({ change, failure }) => {
  const report = createReport({ ...RUN, tally: { ...TALLY, ...change }, observations: observe(1, 1) });
  expect(listFailures(report)).toEqual([failure]);
});
