import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { LiveReader } from '../../src/references/live-reader.ts';
import { type Outcome, type ReaderFor, Simulation } from './simulation.ts';

vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    await new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
}));

/** `npm run simulate` sets both. */
const STEPS = Number(process.env['MCG_SIMULATION_STEPS'] ?? 30_000);
const SEEDS = (process.env['MCG_SIMULATION_SEEDS'] ?? '1,2,3,4').split(',').map(Number);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance', 'Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test.each(SEEDS)('seed %d', { timeout: 3_600_000 }, async (seed) => {
  const outcome = await new Simulation(seed).run(STEPS);
  console.log(JSON.stringify(outcome));

  expect(outcome.violation).toBeUndefined();
  expect(outcome.steps).toBe(STEPS);
  // A run in which little happened proves little.
  const { allowed, deleted, crashes, denied } = outcome;
  const busy = { allowed: allowed > STEPS / 200, deleted: deleted > STEPS / 500, crashes: crashes > STEPS / 5_000 };
  expect(busy).toEqual({ allowed: true, deleted: true, crashes: true });
  expect(denied).toMatchObject({ MCG_IN_USE: expect.any(Number), MCG_UNVERIFIED: expect.any(Number) });
});

/** Runs seeds until one finds something. */
async function firstViolation(readerFor: ReaderFor): Promise<Outcome | undefined> {
  for (let seed = 1; seed <= 20; seed += 1) {
    const outcome = await new Simulation(seed, readerFor).run(5_000);
    if (outcome.violation !== undefined) return outcome;
  }
  return undefined;
}

describe('a guard that is broken is found out, and the seed repeats it to the step', () => {
  test.each<readonly [string, string, ReaderFor]>([
    [
      'one that trusts its index',
      'was let go',
      (_api, index) => reader(async () => await Promise.resolve({ referrers: [...index.referrers()], unreadable: [] })),
    ],
    [
      'one that refuses everything',
      'is free',
      () => reader(async () => await Promise.resolve({ referrers: [], unreadable: [{ name: 'all', reason: 'fear' }] })),
    ],
  ])('%s', async (_title, what, readerFor) => {
    const found = await firstViolation(readerFor);
    expect(found?.violation?.what).toContain(what);
    const again = await new Simulation(found?.seed ?? 0, readerFor).run(5_000);
    expect(again).toEqual(found);
  });
});

function reader(read: LiveReader['read']): LiveReader {
  return { read, readCount: 0 } as unknown as LiveReader;
}
