import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { fakeUntilEnd } from '../support/until-end.ts';
import { startRunningGuard } from './running-guard.ts';

const CONFIG = `rendered-worker-${'a'.repeat(32)}`;

// Each test fails if the guard connects one of its parts to nothing.

test('a guard that stops asks the API server to use another replica for its next call', async () => {
  const { cluster, end, review } = await startRunningGuard({ shutdownDelayMs: 5_000 });
  cluster.create('machineconfigs', { metadata: { name: CONFIG } });
  expect((await review(CONFIG)).headers.connection).toBe('keep-alive');
  fakeUntilEnd('setTimeout', 'clearTimeout', 'setInterval', 'clearInterval');
  const stop = { isEnded: false };
  void end().then(() => (stop.isEnded = true));
  expect((await review(CONFIG)).headers.connection).toBe('close');
  while (!stop.isEnded) {
    await vi.advanceTimersByTimeAsync(100);
    // node:timers/promises has real timers, so that the network has time, too.
    await sleep(1);
  }
});

test('a Lease that cannot be acquired is counted as a failed task', async () => {
  const { scrape } = await startRunningGuard({
    onRequest: ({ path }) => (path.includes('/leases') ? { status: 500 } : 'pass'),
  });
  await expect.poll(scrape).toMatch(/^mcguard_task_failures_total\{task="acquire the Lease"\} [1-9]/m);
});
