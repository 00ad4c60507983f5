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

const LAST_ANSWER = { answer: 'waiting', elapsedMs: 30 };

test.each<[string, Step[], number, object]>([
  ['the last answer after the timeout', ['waiting'], 30, LAST_ANSWER],
  ['the last answer although the first read failed', [UNREACHABLE, 'waiting'], 30, LAST_ANSWER],
  ['the message of an error that persists until the timeout', ['waiting', UNREACHABLE], 30, { answer: 'unreachable' }],
  ['the first answer with the timeout 0', ['waiting', 'settled'], 0, { answer: 'waiting', timeouts: [5_000] }],
  ['an answer to a read that may take at most 30 s', ['settled'], 600_000, { timeouts: [30_000] }],
  ['an answer to a read that may take the whole timeout', ['settled'], 12_000, { timeouts: [12_000] }],
  ['an answer to a read that may take at least 5 s', ['settled'], 100, { timeouts: [5_000] }],
])('returns %s', async (_what, steps, timeoutMs, expected) => {
  expect(await poll(steps, timeoutMs)).toMatchObject(expected);
});

const retryAfterAnswer = (_error: unknown, hasAnswered: boolean): number => (hasAnswered ? 60_000 : 0);

test('polls until the answer is settled, and retries after a first answer', async () => {
  const failed = await poll([UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(failed).toMatchObject({ answer: 'unreachable', reported: [] });
  const recovered = await poll(['waiting', UNREACHABLE, UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(recovered.reported).toEqual(['waiting', 'unreachable', 'unreachable', 'settled']);
});
