import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { mapConcurrently } from '../../src/client/map-concurrently.ts';

test('works on some items at a time, and returns the results in the order of the items', async () => {
  let inWork = 0;
  let maxInWork = 0;
  const results = await mapConcurrently([3, 1, 2, 0], 2, async (item) => {
    inWork += 1;
    maxInWork = Math.max(maxInWork, inWork);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    inWork -= 1;
    return item * 10;
  });
  expect([results, maxInWork]).toEqual([[30, 10, 20, 0], 2]);
});

test('after a failure, starts no further item, and rejects when the items in work have ended', async () => {
  const events: string[] = [];
  const result = mapConcurrently(['fails', 'slow', 'later'], 2, async (item) => {
    events.push(item);
    if (item === 'fails') throw new Error('disk full');
    await setImmediate();
    events.push(`${item} ended`);
  });
  await expect(result).rejects.toThrow('disk full');
  expect(events).toEqual(['fails', 'slow', 'slow ended']);
});
