import { expect, test } from 'vitest';
import type { Churn } from './churn.ts';
import type { Observation } from './observation.ts';
import { createTables, listFailures } from './report.ts';

const TALLY: Churn['tally'] = { denied: 1, allowed: 1, undecided: 0, wrong: [], statuses: 1, rollouts: 1 };

function findFailures(change: Partial<Churn['tally']>, observations: readonly Observation[], worked = 20) {
  const run = { tally: { ...TALLY, ...change }, observations, cpu: 0.1, longest: { held: 40, worked } };
  return listFailures(run, createTables(run));
}

/** In the last quarter of the run the guard and the machine are slower by these factors. */
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
])('guard $guardFactor times and machine $machineFactor times slower: $isFailure', (one) => {
  const failures = findFailures({}, observe(one.guardFactor, one.machineFactor));
  expect(failures).toEqual(one.isFailure ? [expect.stringMatching(/^delay .* grows$/)] : []);
});

test.each([
  { change: { wrong: ['rendered-x (used): 200'] }, failure: 'decided wrongly: rendered-x (used): 200' },
  { change: { undecided: 2 }, failure: '2 deletions were not decided' },
  { change: { denied: 0 }, failure: 'no deletion was denied, or none was allowed' },
])('fails on $failure', ({ change, failure }) => {
  expect(findFailures(change, observe(1, 1))).toEqual([failure]);
});

test('fails if a piece of work of the guard holds the event loop for over 20 ms', () => {
  expect(findFailures({}, observe(1, 1), 21)).toEqual(['one piece of work took 21 ms']);
});
