import { expect, test } from 'vitest';
import { waitOrAbort } from '../../src/kube/wait.ts';

async function rejectLater(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 10));
  throw new Error('rejected');
}

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
  try {
    await expect(waitOrAbort(rejectLater(), controller.signal)).rejects.toThrow('aborted');
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    process.off('unhandledRejection', onUnhandled);
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
  expect(unhandled).toEqual([]);
});
