import { expect, test } from 'vitest';
import { StoryClock } from '../../src/demo/story/story-clock.ts';

const FAST = 1_000_000;

test('resumes only one of two actors if the first makes the condition false again', async () => {
  const clock = new StoryClock(FAST);
  let tickets = 1;
  for (let customer = 0; customer < 2; customer += 1) {
    clock.start(async () => {
      await clock.waitFor(() => tickets > 0);
      tickets -= 1;
    });
  }
  await clock.run();
  expect(tickets).toBe(0);
});

test('does not advance during real work', async () => {
  const clock = new StoryClock(FAST);
  let finishedAt: number | undefined;
  clock.start(async () => {
    await clock.pauseDuring(new Promise((resolve) => setTimeout(resolve, 50)));
    finishedAt = clock.now;
  });
  clock.start(async () => {
    await clock.sleep(100);
  });
  await clock.run();
  expect(finishedAt).toBe(0);
});

test('sleeps in real time divided by the speed', async () => {
  const clock = new StoryClock(100);
  clock.start(async () => {
    await clock.sleep(10);
  });
  const startedAt = performance.now();
  await clock.run();
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
});

test('rejects with the error of an actor', async () => {
  const clock = new StoryClock(FAST);
  clock.start(async () => {
    await clock.sleep(1);
    throw new Error('failed');
  });
  await expect(clock.run()).rejects.toThrow('failed');
});
