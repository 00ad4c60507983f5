import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ReadPacer } from '../../src/webhook/read-pacer.ts';

const READ_BYTES = 64 * 1024;

test('512 KiB are read in a turn, the longest waiting connection first', async () => {
  const pacer = new ReadPacer();
  const done: number[] = [];
  for (let index = 0; index < 20; index += 1) void pacer.wait(READ_BYTES).then(() => done.push(index));
  await Promise.resolve();
  const counts = [done.length];
  for (let turn = 0; turn < 3; turn += 1) {
    await waitForNextTurn();
    counts.push(done.length);
  }
  expect(counts).toEqual([7, 15, 20, 20]);
  expect(done).toEqual([...Array(20).keys()]);
});

test('a connection does not wait if few bytes arrive', async () => {
  const pacer = new ReadPacer();
  let reads = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    for (let index = 0; index < 5; index += 1) void pacer.wait(READ_BYTES).then(() => (reads += 1));
    await Promise.resolve();
    expect(reads).toBe(5 * (turn + 1));
    await waitForNextTurn();
  }
});
