import { expect, test, vi } from 'vitest';
import { NEVER_ABORTED, sleep } from '../../src/common/wait.ts';
import { pollUntilSettled, readWithRetries } from '../../src/client/poll.ts';
import { skipWaits } from '../cli/steps/stopping-api.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

type Step = 'settled' | 'waiting' | 'slow' | 'hanging' | Error;

const UNREACHABLE = new Error('unreachable');

/** Polls a cluster that answers these steps and repeats the last one, by a clock that runs as fast as it can. */
async function poll(
  steps: readonly Step[],
  timeoutMs: number,
  retryUntilMs = (_error: unknown, _hasAnswered: boolean) => timeoutMs,
) {
  let count = 0;
  const reported: string[] = [];
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  const startedAt = performance.now();
  const polled = pollUntilSettled<Step>({
    read: async (signal) => {
      const step = steps[Math.min(count, steps.length - 1)] ?? UNREACHABLE;
      count += 1;
      if (step === 'slow') await sleep(1_000, signal);
      if (step === 'hanging') await sleep(2 ** 30, signal);
      signal.throwIfAborted();
      if (step instanceof Error) throw step;
      return step;
    },
    isSettled: (step) => step === 'settled',
    timeoutMs,
    retryUntilMs,
    onAnswer: (step) => void reported.push(String(step)),
    onFailure: (error) => void reported.push((error as Error).message),
    signal: NEVER_ABORTED,
  }).catch((error: unknown) => ({ answer: (error as Error).message, elapsedMs: performance.now() - startedAt }));
  await vi.runAllTimersAsync();
  return { ...(await polled), reported };
}

test.each<[string, Step[], number, object]>([
  ['the last answer after the timeout', ['waiting'], 30, { answer: 'waiting', elapsedMs: 30 }],
  ['the last answer although the first read failed', [UNREACHABLE, 'waiting'], 30, { answer: 'waiting' }],
  ['the message of an error that persists until the timeout', ['waiting', UNREACHABLE], 30, { answer: 'unreachable' }],
  ['the first answer with the timeout 0', ['waiting', 'settled'], 0, { answer: 'waiting' }],
  ['the answer after a pause of 2 s', ['waiting', 'settled'], 600_000, { elapsedMs: 2_000 }],
  ['the answer after a pause of 4 times a slow read', ['slow', 'settled'], 600_000, { elapsedMs: 5_000 }],
  ['the answer after a read that hung for 2 m', ['hanging', 'settled'], 600_000, { elapsedMs: 130_000 }],
  [
    'the last answer if the time ends during a read',
    ['waiting', 'hanging'],
    12_000,
    { answer: 'waiting', elapsedMs: 0 },
  ],
  ['the timeout of a read that hung for all of it', ['hanging'], 12_000, { elapsedMs: 12_000 }],
  ['the timeout of a read that hung for 5 s', ['hanging'], 100, { elapsedMs: 5_000 }],
])('returns %s', async (_what, steps, timeoutMs, expected) => {
  expect(await poll(steps, timeoutMs)).toMatchObject(expected);
});

test('polls until the answer is settled, and retries after a first answer', async () => {
  const retryAfterAnswer = (_error: unknown, hasAnswered: boolean): number => (hasAnswered ? 60_000 : 0);
  const failed = await poll([UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(failed).toMatchObject({ answer: 'unreachable', reported: [] });
  const recovered = await poll(['waiting', UNREACHABLE, UNREACHABLE, 'settled'], 60_000, retryAfterAnswer);
  expect(recovered.reported).toEqual(['waiting', 'unreachable', 'unreachable', 'settled']);
});

test('reads again each half second for 5 s, unless a retry cannot help', async () => {
  skipWaits();
  for (const [error, reads, ms] of [
    [new DOMException('', 'TimeoutError'), 11, 5_000],
    [UNREACHABLE, 1, 5_000],
  ] as const) {
    const read = vi.fn<() => Promise<void>>().mockRejectedValue(error);
    await expect(readWithRetries(read)).rejects.toBe(error);
    expect(read).toHaveBeenCalledTimes(reads);
    expect(performance.now()).toBe(ms);
  }
});
