import { expect, test, vi } from 'vitest';
import { HOLD_MS, IS_LONG, SMALL_BOUNDS } from './bounds.ts';
import { BROKEN_GUARDS } from './broken-guards.ts';
import { explore } from './explorer.ts';
import { testBounds, useExplorationTimers } from './test-bounds.ts';
import { World } from './world.ts';

// Fake timers do not replace node:timers/promises.
vi.mock('node:timers/promises', () => ({ setImmediate: async () => await Promise.resolve() }));

const print = IS_LONG ? console.log : () => {};

useExplorationTimers();

testBounds(Object.entries(SMALL_BOUNDS));

test('leaves out only orders that lead to the same states', async () => {
  const limits = { writes: 1, deletions: 1, faults: 1, holdMs: HOLD_MS };
  const start = async () => await World.start({ starts: [], writers: ['node-1', 'worker'], ...limits }, []);
  const first = await explore(start, 'depth-first');
  const every = await explore(start, 'depth-first', 'every');
  expect(first.states).toBe(every.states);
  expect(first.schedules).toBeLessThan(every.schedules);
});

test.each(BROKEN_GUARDS)('finds a guard that %s', async (name, broken, bound, problem) => {
  const [namingA = []] = bound.starts;
  // The shortest trace takes ten times longer.
  const search = IS_LONG ? 'breadth-first' : 'depth-first';
  const { violation } = await explore(async () => await World.start(bound, namingA, broken), search);
  print([`a guard that ${name}:`, ...(violation?.trace ?? []), violation?.message].join('\n  '));
  expect(violation?.message).toContain(problem);
});
