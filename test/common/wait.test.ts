import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { repeat, waitOrAbort } from '../../src/common/wait.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';

test.each([
  ['before', (controller: AbortController) => controller.abort()],
  ['during', (controller: AbortController) => void setImmediate(() => controller.abort())],
])('waitOrAbort swallows a rejection that follows an abort %s the wait', async (_title, abort) => {
  const controller = new AbortController();
  abort(controller);
  const emit = vi.spyOn(process, 'emit');
  let reject = (_reason: Error) => {};
  const promise = new Promise<never>((_resolve, rejectPromise) => (reject = rejectPromise));
  await expect(waitOrAbort(promise, controller.signal)).rejects.toThrow('aborted');
  reject(new Error('rejected'));
  // Node.js reports an unhandled rejection before the next turn of the event loop.
  await waitForNextTurn();
  expect(emit.mock.calls.map(([event]) => event)).not.toContain('unhandledRejection');
});

test('repeat survives errors of the work and of its report, and pauses longer after each', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const starts: number[] = [];
  const work = (): void => {
    starts.push(performance.now());
    if (starts.length < 4) throw new Error('a defect');
  };
  const first = performance.now();
  runUntilEnd((signal) => repeat(1_000, signal, work, async () => await Promise.reject(new Error('another'))));
  await vi.advanceTimersByTimeAsync(12_000);
  // A pause of one second, and one, two and four more after the errors.
  expect(starts.map((time) => Math.round((time - first) / 1_000))).toEqual([0, 2, 5, 10, 11, 12]);
});
