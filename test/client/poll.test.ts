import { expect, test, vi } from 'vitest';
import { pollUntilSettled } from '../../src/client/poll.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

type Step = 'settled' | 'waiting' | Error;

const UNREACHABLE = new Error('unreachable');

/** Polls a cluster that answers these steps and repeats the last one, by a clock that runs as fast as it can. */
async function poll(
  steps: readonly Step[],
  timeoutMs: number,
  retryUntilMs = (_error: unknown, _hasAnswered: boolean) => timeoutMs,
) {
  const timeouts: number[] = [];
  const reported: string[] = [];
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  const polled = pollUntilSettled<Step>({
    read: async (readTimeoutMs) => {
      const step = steps[Math.min(timeouts.length, steps.length - 1)] ?? UNREACHABLE;
      timeouts.push(readTimeoutMs);
      if (step instanceof Error) throw step;
      return step;
    },
    isSettled: (step) => step === 'settled',
    timeoutMs,
    retryUntilMs,
    onAnswer: (step) => void reported.push(String(step)),
    onFailure: (error) => void reported.push((error as Error).message),
    intervalMs: 1,
  }).catch((error: unknown) => ({ answer: (error as Error).message, elapsedMs: Number.NaN }));
  await vi.runAllTimersAsync();
  return { ...(await polled), timeouts, reported };
}

test('returns the last answer after the timeout', async () => {
  expect(await poll(['waiting'], 30)).toMatchObject({ answer: 'waiting', elapsedMs: 30 });
  expect(await poll([UNREACHABLE, 'waiting'], 30)).toMatchObject({ answer: 'waiting', elapsedMs: 30 });
});

test('reads once if the timeout is 0', async () => {
  const { answer, timeouts } = await poll(['waiting', 'settled'], 0);
  expect(answer).toBe('waiting');
  expect(timeouts).toHaveLength(1);
});

test.each([
  [600_000, 30_000],
  [12_000, 12_000],
  [100, 5_000],
])('with a timeout of %i ms, a read gets %i ms', async (timeoutMs, readTimeoutMs) => {
  expect((await poll(['settled'], timeoutMs)).timeouts).toEqual([readTimeoutMs]);
});

test('throws an error that persists until the timeout', async () => {
  expect(await poll(['waiting', UNREACHABLE], 30)).toMatchObject({ answer: 'unreachable' });
});

const retryAfterAnswer = (_error: unknown, hasAnswered: boolean): number => (hasAnswered ? 60_000 : 0);

test('polls until the answer is settled, and retries after a first answer', async () => {
  const failed = await poll([UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(failed).toMatchObject({ answer: 'unreachable', reported: [] });
  const recovered = await poll(['waiting', UNREACHABLE, UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(recovered.reported).toEqual(['waiting', 'unreachable', 'unreachable', 'settled']);
});
