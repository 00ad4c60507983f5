import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { waitOrAbort } from '../../src/common/wait.ts';

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
