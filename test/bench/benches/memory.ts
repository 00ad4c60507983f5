import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchCluster } from '../bench-cluster.ts';
import { measureAllowed } from '../deletions.ts';
import { memoryOf, resetPeak } from '../memory.ts';
import { nodeProgram, startWebhook } from '../peers/webhook-process.ts';
import { createColumns, createGoalTable, type Row, type Table } from '../table.ts';
import { type WebhookAddress, WebhookClient } from '../webhook-client.ts';

export const question = 'How much memory does the guard use at rest and at its peak, compared with a minimal webhook?';

const FULL = { fleets: [2_000, 5_000], restMs: 10_000 } as const;
const QUICK = { fleets: [50, 100], restMs: 2_000 } as const;

const LIVE_READS = 20;
const LARGE_REVIEWS = 16;
const LARGE_REVIEW_BYTES = 1_000_000;

const NODE_HTTPS = 'node:https, JSON.parse';
const GUARD = 'guard';
const AT_REST = 'at rest';
const PARALLEL_REVIEWS = `${LARGE_REVIEWS} reviews of 1 MB in parallel`;
const AFTERWARDS = 'afterwards, at rest';

const TABLE = {
  title: 'Resident memory, MB',
  columns: [
    ...createColumns({ who: 'process', what: 'while' }),
    ...createColumns({ now: 'at its end', peak: 'at most' }, 1),
  ],
  notes: ['VmRSS and VmHWM of /proc, the latter reset for each line. MB are 10⁶ bytes.'],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const { fleets, restMs } = isQuick ? QUICK : FULL;
  const { guard, controlPlane } = cluster.guarded;
  const rows: Row[] = [];
  const [used, unused] = [await cluster.createConfig(GUARD), await cluster.createConfig(GUARD)];
  const largeReview = await cluster.createOverriddenReview(LARGE_REVIEW_BYTES);
  const measure = async (who: string, what: string, pid: number, work: () => Promise<unknown>) => {
    cluster.log(`${who}: ${what} …`);
    await resetPeak(pid);
    await work();
    rows.push({ who, what, ...(await memoryOf(pid)) });
  };
  const rest = async () => await sleep(restMs);

  const idle = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1e9)'], { stdio: 'ignore' });
  await measure('node', 'does nothing', Number(idle.pid), rest);
  idle.kill();
  const plain = await startWebhook(controlPlane, nodeProgram('parse'));
  await measure(NODE_HTTPS, 'asked nothing yet', plain.pid, rest);
  await measure(NODE_HTTPS, PARALLEL_REVIEWS, plain.pid, () => sendLargeReviews(plain, largeReview));

  await measure(GUARD, 'no node', guard.pid, rest);
  for (const nodes of fleets) {
    const measureGuard = async (what: string, work: () => Promise<unknown>) =>
      await measure(GUARD, `${nodes} nodes${what}`, guard.pid, work);
    await measureGuard(' join', () => cluster.growFleet(nodes, [used]));
    await measureGuard(`, ${AT_REST}`, rest);
    await measureGuard(`, ${LIVE_READS} live reads, one after another`, async () => {
      for (let index = 0; index < LIVE_READS; index += 1) await measureAllowed(cluster.admin, unused);
    });
    await measureGuard(`, ${LIVE_READS} deletions that are allowed, in parallel`, () =>
      Promise.all(Array.from({ length: LIVE_READS }, () => measureAllowed(cluster.admin, unused))),
    );
  }
  await measure(GUARD, PARALLEL_REVIEWS, guard.pid, () => sendLargeReviews(guard, largeReview));
  await measure(GUARD, AFTERWARDS, guard.pid, rest);
  return [{ ...TABLE, rows }, createGoals(rows)];
}

async function sendLargeReviews(webhook: WebhookAddress, review: Buffer): Promise<void> {
  const client = new WebhookClient(webhook, LARGE_REVIEWS);
  await Promise.all(Array.from({ length: LARGE_REVIEWS }, () => client.expectAllowed(review)));
  client.close();
}

function createGoals(rows: readonly Row[]): Table {
  const guards = rows.filter(({ who, what }) => who === GUARD && what !== PARALLEL_REVIEWS && what !== AFTERWARDS);
  const rested = guards.findLast(({ what }) => String(what).endsWith(AT_REST));
  const peak = Math.max(...guards.map((row) => Number(row['peak'])));
  return createGoalTable('Memory and its goals', [
    { what: `guard, ${rested?.['what']}, MB`, found: Number(rested?.['now']), atMost: 120 },
    { what: 'guard, at most until then and in all live reads, MB', found: peak, atMost: 160 },
  ]);
}
