import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../../test/support/random.ts';

/** The machine is idle if it works for at most 10 ms of this time, which is one tick of its processors' clocks. */
const IDLE_MS = 50;
const TICK_MS = 10;
/** After it, a measurement starts in any case: the machine may have other work. */
const MAX_WAIT_MS = 2_000;

/** Percentiles by the nearest rank: each is a value that was measured. NaN without a value. */
export function summarize(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return { p50: percentile(0.5), p99: percentile(0.99) };
}

/**
 * Takes all measurements in each round, so that other work on the machine disturbs all of them alike. Their order is
 * random, but the same in each run. A measurement leaves work to its process and to the API server, such as garbage, so
 * the next one starts when the machine is idle. Adds a tenth of the rounds as a warm-up, which does not count.
 * @param measurements each returns the milliseconds of its parallel runs
 * @returns a summary for each measurement
 */
export async function interleave(measurements: readonly (() => Promise<readonly number[]>)[], rounds: number) {
  const times = measurements.map((measure) => ({ measure, values: [] as number[] }));
  const random = createRandom(rounds);
  for (let round = -Math.ceil(rounds / 10); round < rounds; round += 1) {
    const order = times.map((time) => ({ ...time, key: random() })).toSorted((a, b) => a.key - b.key);
    for (const { measure, values } of order) {
      await waitUntilIdle();
      const ms = await measure();
      if (round >= 0) values.push(...ms);
    }
  }
  return times.map(({ values }) => summarize(values));
}

async function waitUntilIdle(): Promise<void> {
  const deadline = performance.now() + MAX_WAIT_MS;
  let workedMs = sumWorkedMs();
  let isIdle = false;
  while (!isIdle && performance.now() < deadline) {
    await delay(IDLE_MS);
    const now = sumWorkedMs();
    isIdle = now - workedMs <= TICK_MS;
    workedMs = now;
  }
}

/** Of all processors, since the start of the machine. */
function sumWorkedMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}
