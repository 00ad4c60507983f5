import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createNodes, nodeName } from '../../../build/bench/fleet.ts';
import { summarize } from '../../../build/bench/interleave.ts';
import { memoryOf } from '../../../build/bench/process-figures.ts';
import { pause } from '../control-plane/until.ts';
import { PATHS } from '../support/objects.ts';
import { probeCalls } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const NODES = 5_000;
const MINUTES = 30;
const OBSERVATIONS = 400;
/** Of a kubelet (kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go, nodeStatusReportFrequency). */
const STATUS_INTERVAL_MS = 300_000;
const CONFIG_INTERVAL_MS = 4_000;
/** The tolerated growth: a share of the level before or an amount, whichever is larger. V8 takes more now and then. */
const TOLERATED = { megabytes: { share: 0.05, amount: 5 }, files: { share: 0.1, amount: 4 } };

const { cluster, guard } = await sharedGuardedCluster();

/** Calls a function at a fixed rate. After a slow call the next ones follow immediately. */
async function repeat(intervalMs: number, signal: AbortSignal, work: (index: number) => Promise<unknown>) {
  let next = performance.now();
  for (let index = 0; !signal.aborted; index += 1) {
    await work(index);
    next += intervalMs;
    await pause(Math.max(0, next - performance.now()));
  }
}

test('beside 5,000 nodes, memory and open files do not grow in 30 minutes, and every answer is right', async () => {
  await createNodes(cluster.admin, 0, NODES, await cluster.config());
  const observations = { megabytes: [] as number[], files: [] as number[] };

  const failedCalls = await probeCalls(cluster, async () => {
    const stop = new AbortController();
    const work = Promise.all([
      repeat(STATUS_INTERVAL_MS / NODES, stop.signal, (index) => {
        const heartbeat = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() };
        const path = `${PATHS.nodes}/${nodeName(index % NODES)}/status`;
        return cluster.admin.patch(path, { status: { conditions: [heartbeat] } });
      }),
      repeat(CONFIG_INTERVAL_MS, stop.signal, async () => cluster.delete(await cluster.config())),
    ]);
    for (let index = 0; index < OBSERVATIONS; index += 1) {
      // A failure of the work ends the run.
      await Promise.race([work, pause((MINUTES * 60_000) / OBSERVATIONS)]);
      observations.megabytes.push((await memoryOf(guard.pid)).now);
      observations.files.push((await readdir(`/proc/${guard.pid}/fd`)).length);
    }
    stop.abort();
    await work;
  });

  expect(failedCalls).toEqual([]);
  // A heap rises and falls, so medians. In the first quarter caches fill and the heap finds its size.
  const median = (values: readonly number[]) => summarize(values).p50;
  for (const key of ['megabytes', 'files'] as const) {
    const before = median(observations[key].slice(OBSERVATIONS / 4, OBSERVATIONS / 2));
    const after = median(observations[key].slice((3 * OBSERVATIONS) / 4));
    console.log(`${key}: ${before} in the second quarter, ${after} in the last`);
    const { share, amount } = TOLERATED[key];
    expect(after).toBeLessThanOrEqual(before + Math.max(share * before, amount));
  }
}, 7_200_000);
