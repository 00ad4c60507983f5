import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { DEFAULT_TIMING, Reflector } from '../../src/kube/reflector.ts';
import { NODES } from '../../src/mco/resources.ts';
import { memoryLog } from '../support/log.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';

/** The API server sends one about once a minute (kubernetes, apiserver/pkg/storage/cacher). */
const BOOKMARK_INTERVAL_MS = 60_000;
const STEP_MS = 1_000;

test('a watch that only gets bookmarks stays open, and ends when they end', async () => {
  const cluster = await startTestCluster();
  const { log, messages } = memoryLog();
  const reflector = new Reflector({ api: cluster.connect(), resource: NODES, log });
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  runUntilEnd((signal) => reflector.run(signal));
  const { requests, watches } = cluster.faults;
  const countWatches = () => requests.filter(({ isWatch }) => isWatch).length;
  /** A poll would let more time pass. */
  const awaitTurns = async (isDone: () => boolean) => {
    while (!isDone()) await nextTurn();
  };
  /** Gives each probe time for its answer. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await vi.advanceTimersByTimeAsync(STEP_MS);
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    }
  };
  await awaitTurns(() => watches.size === 1);

  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await pass(BOOKMARK_INTERVAL_MS);
    // A bookmark has a version that an object of another kind has got.
    cluster.create('namespaces', { metadata: { name } });
    const version = String(cluster.resourceVersion);
    const metadata = { resourceVersion: version };
    for (const watch of watches) watch.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
    await awaitTurns(() => reflector.newestVersion === version);
    expect(reflector.silentMs).toBe(0);
  }
  expect({ watchCount: countWatches(), messages: messages() }).toEqual({ watchCount: 1, messages: [] });

  await pass(DEFAULT_TIMING.silenceMs + 2 * STEP_MS);
  await awaitTurns(() => countWatches() === 2);
  const reason = `the watch has been silent for ${DEFAULT_TIMING.silenceMs / 1_000} s`;
  expect(messages()[0]).toBe(`cannot watch nodes: ${reason}`);
});
