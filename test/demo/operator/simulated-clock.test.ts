import { expect, test } from 'vitest';
import { type Actor, SimulatedClock } from '../../../src/demo/operator/simulated-clock.ts';

/** Runs actors that sleep, do their work and sleep again. Returns when each one acted. */
function createActors(work: (clock: SimulatedClock) => Promise<void> = async () => {}) {
  const clock = new SimulatedClock(Number.POSITIVE_INFINITY);
  const events: string[] = [];
  async function* act(name: string, seconds: number): Actor {
    for (let count = 0; count < 2; count += 1) {
      yield seconds;
      events.push(`${name} at ${clock.now}`);
      await work(clock);
    }
  }
  clock.start(act('slow', 30));
  clock.start(act('fast', 10));
  return { clock, events };
}

test('orders actors by simulated time, stops after the seconds of a run, and continues in the next one', async () => {
  const { clock, events } = createActors();
  await clock.run(25);
  expect([...events, clock.now]).toEqual(['fast at 10', 'fast at 20', 25]);
  await clock.run();
  expect(events.slice(2)).toEqual(['slow at 30', 'slow at 60']);
});

test('lets no other actor act during an outage', async () => {
  const { clock, events } = createActors(async ({ now }) => await clock.advanceTo(now + 60));
  await clock.run();
  expect(events).toEqual(['fast at 10', 'slow at 70', 'fast at 130', 'slow at 190']);
});

test('rejects with the error of an actor', async () => {
  const { clock } = createActors(() => Promise.reject(new Error('failed')));
  await expect(clock.run()).rejects.toThrow('failed');
});

test('resumes only one of two actors if the first makes the condition false again', async () => {
  const clock = new SimulatedClock(Number.POSITIVE_INFINITY);
  let tickets = 1;
  async function* buyTicket(): Actor {
    yield () => tickets > 0;
    tickets -= 1;
  }
  for (const actor of [buyTicket(), buyTicket()]) clock.start(actor);
  await clock.run();
  expect(tickets).toBe(0);
});
