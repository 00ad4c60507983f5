import { expect, test } from 'vitest';
import { withStopSignal } from '../../src/client/signals.ts';

test('a second signal ends the process, because nothing listens to it', async () => {
  const count = () => ['SIGTERM', 'SIGINT'].map((name) => process.listenerCount(name));
  const before = count();
  const during = await withStopSignal(async ({ aborted }) => {
    process.emit('SIGTERM');
    return await Promise.resolve([aborted, count()]);
  });
  expect(during).toEqual([false, before]);
});
