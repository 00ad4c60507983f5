import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Bound, IS_LONG } from './bounds.ts';
import { explore } from './explorer.ts';
import { World } from './world.ts';
import type { Code } from '../../src/api/codes.ts';

export const print = IS_LONG ? console.log : () => {};

// Only the scheduler lets time pass. Fake timers do not replace node:timers/promises.
vi.mock('node:timers/promises', () => ({ setImmediate: async () => await Promise.resolve() }));

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Explores every schedule within the bounds, a test for each. */
export function testBounds(bounds: readonly (readonly [string, Bound])[]): void {
  test.each(bounds)('gives no wrong answer with %s', { timeout: 7_200_000 }, async (name, bound) => {
    const codes = new Set<Code>();
    const onEnd = (answers: readonly Code[]): void => answers.forEach((code) => codes.add(code));
    for (const namingA of bound.starts) {
      const start = async () => await World.start(bound, namingA, undefined, onEnd);
      const { violation, ...counts } = await explore(start);
      print(`${name}, A named by ${namingA.join(' and ') || 'nothing'}: ${JSON.stringify(counts)}`);
      expect(violation).toBeUndefined();
    }
    expect(codes).toEqual(new Set(findExpectedCodes(bound)));
  });
}

/** Schedules without one of these answers would prove less. */
function findExpectedCodes({ holdMs, ...limits }: Bound): readonly string[] {
  const used = ['MCG_IN_USE', 'MCG_NOT_IN_USE'];
  // The guard retries after one delay.
  const canFail = (limits.faults ?? limits.deadlines ?? 0) > 0 || (limits.delays ?? 0) > 1;
  return [...used, ...(canFail ? ['MCG_UNVERIFIED'] : []), ...(holdMs === undefined ? [] : ['MCG_HELD'])];
}
