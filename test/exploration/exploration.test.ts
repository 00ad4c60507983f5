import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Code } from '../../src/decision/verdict.ts';
import { type Bound, BOUNDS, HOLD_MS, IS_LONG } from './bounds.ts';
import { BROKEN_GUARDS } from './broken-guards.ts';
import { explore } from './explorer.ts';
import { World } from './world.ts';

// Fake timers do not replace node:timers/promises.
vi.mock('node:timers/promises', () => ({ setImmediate: async () => await Promise.resolve() }));

const print = IS_LONG ? console.log : () => {};

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each(Object.entries(BOUNDS))('gives no wrong answer with %s', { timeout: 7_200_000 }, async (name, bound) => {
  const codes = new Set<Code>();
  const onEnd = (answers: readonly Code[]): void => answers.forEach((code) => codes.add(code));
  for (const namingA of bound.starts) {
    const start = async () => await World.start(bound, namingA, {}, onEnd);
    const { violation, ...counts } = await explore(start, 'depth-first');
    print(`${name}, A named by ${namingA.join(' and ') || 'nothing'}: ${JSON.stringify(counts)}`);
    expect(violation).toBeUndefined();
  }
  expect(codes).toEqual(new Set(findExpectedCodes(bound)));
});

/** Schedules without one of these answers would prove less. */
function findExpectedCodes({ holdMs, ...limits }: Bound): readonly string[] {
  const used = ['MCG_IN_USE', 'MCG_NOT_IN_USE'];
  // The guard retries after one delay.
  const canFail = (limits.faults ?? limits.deadlines ?? 0) > 0 || (limits.delays ?? 0) > 1;
  return [...used, ...(canFail ? ['MCG_UNVERIFIED'] : []), ...(holdMs === undefined ? [] : ['MCG_HELD'])];
}

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
