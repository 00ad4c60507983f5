import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitOrAbort } from '../../src/common/wait.ts';

test.each([
  ['before', (controller: AbortController) => controller.abort()],
  ['during', (controller: AbortController) => void setImmediate(() => controller.abort())],
])('waitOrAbort swallows a rejection that follows an abort %s the wait', async (_title, abort) => {
  const controller = new AbortController();
  abort(controller);
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => void unhandled.push(reason);
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', onUnhandled);
  let reject = (_reason: Error) => {};
  const promise = new Promise<never>((_resolve, rejectPromise) => (reject = rejectPromise));
  try {
    await expect(waitOrAbort(promise, controller.signal)).rejects.toThrow('aborted');
    reject(new Error('rejected'));
    // Node.js reports an unhandled rejection before the next turn of the event loop.
    await waitForNextTurn();
  } finally {
    process.off('unhandledRejection', onUnhandled);
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
  expect(unhandled).toEqual([]);
});
