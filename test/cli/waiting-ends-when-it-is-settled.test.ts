import { describe, expect, test } from 'vitest';
import { pollUntilSettled } from '../../src/inspect/poll.ts';

type Step = 'fine' | 'hopeless' | 'waiting' | Error;

/** Waits while the cluster answers like this, one step a look, the last one for ever. */
async function wait(
  steps: readonly Step[],
  timeoutMs: number,
  patienceMs = (_error: unknown, _answered: boolean) => timeoutMs,
) {
  const looks: number[] = [];
  const told: string[] = [];
  const settled = pollUntilSettled<Step>({
    poll: async (withinMs) => {
      const step = steps[Math.min(looks.length, steps.length - 1)] ?? AWAY;
      looks.push(withinMs);
      if (step instanceof Error) throw step;
      return step;
    },
    isSettled: (step) => step === 'fine' || step === 'hopeless',
    timeoutMs,
    patienceMs,
    onAnswer: (step) => told.push(String(step)),
    onFailure: (error) => told.push((error as Error).message),
    pollMs: 1,
  });
  const outcome = await settled.then(
    ({ answer, waitedMs }) => ({ answer, waited: waitedMs >= timeoutMs, threw: undefined }),
    (error: unknown) => ({ answer: undefined, waited: undefined, threw: (error as Error).message }),
  );
  return { ...outcome, looks, told };
}

const AWAY = new Error('away');
const onlyOnceAnswered = (_error: unknown, answered: boolean): number => (answered ? 60_000 : 0);

test('fine at once: one look', async () => {
  expect(await wait(['fine'], 60_000)).toMatchObject({ answer: 'fine', waited: false, told: ['fine'] });
});

test('fine after a while', async () => {
  expect(await wait(['waiting', 'waiting', 'fine'], 60_000)).toMatchObject({
    answer: 'fine',
    told: ['waiting', 'waiting', 'fine'],
  });
});

test('settled otherwise: it ends at once, however much time is left', async () => {
  expect(await wait(['waiting', 'hopeless', 'fine'], 60_000)).toMatchObject({ answer: 'hopeless', waited: false });
});

test('never settled: it ends at the timeout with the last answer', async () => {
  expect(await wait(['waiting'], 30)).toMatchObject({ answer: 'waiting', waited: true });
});

test('without any time there is one look all the same', async () => {
  const { answer, looks } = await wait(['waiting', 'fine'], 0);
  expect(answer).toBe('waiting');
  expect(looks).toHaveLength(1);
});

test('each look has half a minute, and the last one five seconds although less is left', async () => {
  expect((await wait(['fine'], 600_000)).looks).toEqual([30_000]);
  expect((await wait(['fine'], 12_000)).looks[0]).toBeGreaterThan(11_000);
  expect((await wait(['fine'], 12_000)).looks[0]).toBeLessThanOrEqual(12_000);
  expect((await wait(['fine'], 100)).looks).toEqual([5_000]);
});

describe('errors', () => {
  test('one that may pass is waited out', async () => {
    expect(await wait(['waiting', AWAY, AWAY, 'fine'], 60_000)).toMatchObject({
      answer: 'fine',
      told: ['waiting', 'away', 'away', 'fine'],
    });
  });

  test('one that lasts until the timeout is what it ends with', async () => {
    expect(await wait(['waiting', AWAY], 30)).toMatchObject({ threw: 'away' });
  });

  test('back before the timeout and not settled: the answer is what it ends with', async () => {
    const { answer, told } = await wait([AWAY, 'waiting'], 30);
    expect(answer).toBe('waiting');
    expect(told[0]).toBe('away');
  });

  test('one that no patience helps against ends it at once, and is told by whoever catches it', async () => {
    expect(await wait([AWAY, 'fine'], 60_000, () => 0)).toMatchObject({ threw: 'away', told: [] });
  });

  test('patience may depend on whether there has been an answer', async () => {
    expect(await wait([AWAY], 60_000, onlyOnceAnswered)).toMatchObject({ threw: 'away' });
    expect(await wait(['waiting', AWAY, 'fine'], 60_000, onlyOnceAnswered)).toMatchObject({ answer: 'fine' });
  });
});
