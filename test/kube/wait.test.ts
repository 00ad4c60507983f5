import { expect, test } from 'vitest';
import { waitOrAbort } from '../../src/kube/wait.ts';

/** Rejects a moment from now. */
async function later(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 10));
  throw new Error('too late to matter');
}

test.each([
  ['before', (over: AbortController) => over.abort()],
  ['while it is waited for', (over: AbortController) => void setImmediate(() => over.abort())],
])('what was given up %s may fail later: no rejection is left that nobody handles', async (_title, giveUp) => {
  const over = new AbortController();
  giveUp(over);
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  try {
    await expect(waitOrAbort(later(), over.signal)).rejects.toThrow('aborted');
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    process.off('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  }
  expect(unhandled).toEqual([]);
});
