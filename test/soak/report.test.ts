import { expect, test } from 'vitest';
import { listFailures } from './report.ts';

/** Half an hour with a sawtooth of 20 MB between garbage collections. */
function findFailures({ growthPerMinute = 0, worked = 20, faults = [] as string[] }) {
  const observations = Array.from({ length: 900 }, (_, index) => {
    return { memory: 100 + (index % 21) + (growthPerMinute * index) / 30, files: 30 + (index > 450 ? 1 : 0) };
  });
  return listFailures({ observations, faults, counts: {}, longest: { held: 40, worked } });
}

test.each([
  { run: {}, failures: [] },
  { run: { growthPerMinute: 0.3 }, failures: [] },
  { run: { growthPerMinute: 1 }, failures: ['resident memory, MB: grows'] },
  { run: { worked: 21 }, failures: ['one piece of work took 21 ms'] },
  { run: { faults: ['used was answered "allowed": '] }, failures: ['used was answered "allowed": '] },
])('fails with $failures after $run', ({ run, failures }) => {
  expect(findFailures(run)).toEqual(failures);
});
