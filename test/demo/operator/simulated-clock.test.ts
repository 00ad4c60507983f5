import { expect, test } from 'vitest';
import { SimulatedClock } from '../../../src/demo/operator/simulated-clock.ts';

const FAST = 1_000_000;

test('resumes only one of two actors if the first makes the condition false again', async () => {
  const clock = new SimulatedClock(FAST);
  let tickets = 1;
  for (let customer = 0; customer < 2; customer += 1) {
    clock.start(async () => {
      await clock.waitFor(() => tickets > 0);
      tickets -= 1;
    });
  }
  await clock.runUntilIdle();
  expect(tickets).toBe(0);
});

test('does not advance during real work', async () => {
  const clock = new SimulatedClock(FAST);
  let finishedAt: number | undefined;
  clock.start(async () => {
    await clock.pauseDuring(new Promise((resolve) => setTimeout(resolve, 50)));
    finishedAt = clock.now;
  });
  clock.start(async () => {
    await clock.sleep(100);
  });
  await clock.runUntilIdle();
  expect(finishedAt).toBe(0);
});

test('sleeps in real time divided by the speed', async () => {
  const clock = new SimulatedClock(100);
  clock.start(async () => {
    await clock.sleep(10);
  });
  const startedAt = performance.now();
  await clock.runUntilIdle();
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
});

test('rejects with the error of an actor', async () => {
  const clock = new SimulatedClock(FAST);
  clock.start(async () => {
    await clock.sleep(1);
    throw new Error('failed');
  });
  await expect(clock.runUntilIdle()).rejects.toThrow('failed');
});
