import { expect, test } from 'vitest';
import { print, testBounds } from './test-bounds.ts';
import { HOLD_MS, SMALL_BOUNDS } from './bounds.ts';
import { BROKEN_GUARDS } from './broken-guards.ts';
import { explore } from './explorer.ts';
import { World } from './world.ts';

testBounds(Object.entries(SMALL_BOUNDS));

test('leaves out only orders that lead to the same states', async () => {
  const limits = { writes: 1, deletions: 1, faults: 1, holdMs: HOLD_MS };
  const start = async () => await World.start({ starts: [], writers: ['worker'], ...limits }, []);
  const [first, every] = [await explore(start), await explore(start, 'every')];
  expect(first.states).toBe(every.states);
  expect(first.schedules).toBeLessThan(every.schedules);
});

test.each(BROKEN_GUARDS)('finds a guard that %s', async (name, broken, bound, problem) => {
  const [namingA = []] = bound.starts;
  const { violation } = await explore(async () => await World.start(bound, namingA, broken));
  print([`a guard that ${name}:`, ...(violation?.trace ?? []), violation?.message].join('\n  '));
  expect(violation?.message).toContain(problem);
});
