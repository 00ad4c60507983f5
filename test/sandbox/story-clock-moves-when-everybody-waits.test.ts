import { expect, test } from 'vitest';
import { StoryClock } from '../../src/demo/story/story-clock.ts';

const FAST = 1_000_000;
const NEVER = new AbortController().signal;

test('actors act in the order of their moments, whatever the order in which they began to wait', async () => {
  const clock = new StoryClock(FAST);
  const acts: string[] = [];
  const act = (name: string, moment: number): void => {
    clock.start(async () => {
      await clock.at(moment);
      acts.push(`${name} at ${clock.now}`);
    });
  };
  act('late', 60);
  act('early', 30);
  await clock.run(NEVER);
  expect(acts).toEqual(['early at 30', 'late at 60']);
});

test('who waits for a condition acts at the moment at which it comes true', async () => {
  const clock = new StoryClock(FAST);
  let open = false;
  let passedAt: number | undefined;
  clock.start(async () => {
    await clock.until(() => open);
    passedAt = clock.now;
  });
  clock.start(async () => {
    await clock.sleep(10);
    open = true;
    await clock.sleep(10);
  });
  await clock.run(NEVER);
  expect([passedAt, clock.now]).toEqual([10, 20]);
});

test('of two who wait for the same only one goes where the first takes it away', async () => {
  const clock = new StoryClock(FAST);
  let tickets = 1;
  const served: number[] = [];
  for (const customer of [1, 2]) {
    clock.start(async () => {
      await clock.until(() => tickets > 0);
      tickets -= 1;
      served.push(customer);
    });
  }
  await clock.run(NEVER);
  expect([served, tickets]).toEqual([[1], 0]);
});

test('a story in which everybody waits for somebody else is over', async () => {
  const clock = new StoryClock(FAST);
  let ended = false;
  clock.start(async () => {
    await clock.sleep(5);
    await clock.until(() => false);
    ended = true;
  });
  await clock.run(NEVER);
  expect([clock.now, ended]).toEqual([5, false]);
});

test('time stands still while something real is under way', async () => {
  const clock = new StoryClock(FAST);
  const moments: number[] = [];
  clock.start(async () => {
    await clock.outside(new Promise((resolve) => setTimeout(resolve, 50)));
    moments.push(clock.now);
  });
  clock.start(async () => {
    await clock.sleep(100);
  });
  await clock.run(NEVER);
  expect(moments).toEqual([0]);
});

test('real time passes at the given speed', async () => {
  const clock = new StoryClock(100);
  clock.start(async () => {
    await clock.sleep(10);
  });
  const begunAt = performance.now();
  await clock.run(NEVER);
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(95);
});

test("an actor's error ends the story, and so does the signal", async () => {
  const failing = new StoryClock(FAST);
  failing.start(async () => {
    await failing.sleep(1);
    throw new Error('fell off the stage');
  });
  await expect(failing.run(NEVER)).rejects.toThrow('fell off the stage');
  const endless = new StoryClock(1);
  endless.start(async () => {
    await endless.sleep(1_000);
  });
  await expect(endless.run(AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'AbortError' });
});
