import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

import type { KubeClient } from '../../e2e/control-plane/kube-client.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { askDirectly, overriddenReview, webhookClient } from '../direct-reviews.ts';
import { goalTable } from '../goals.ts';
import { forgetPeak, memoryOf } from '../memory.ts';
import { createFleet } from '../nodes.ts';
import { startPlainWebhook } from '../plain-webhooks.ts';

const FULL = { fleets: [2_000, 5_000], restMs: 10_000 } as const;
const QUICK = { fleets: [50, 100], restMs: 2_000 } as const;

const LIVE_READS = 20;
const LARGE_REVIEWS = { parallel: 16, bytes: 3_000_000 } as const;
const PARALLEL_LARGE = `${LARGE_REVIEWS.parallel} reviews of 3 MB in parallel`;
const AT_REST = 'at rest';
const AFTERWARDS = 'afterwards, at rest';

const bench: Bench = {
  question: 'How much memory does the guard hold and need at most, against Node itself and the least webhook in Node?',
  run,
};
export default bench;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const { fleets, restMs } = quick ? QUICK : FULL;
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { admin } = guarded.controlPlane.apiServer;
    const { guard } = guarded;
    const plain = await startPlainWebhook(guarded.controlPlane, 'parse');
    const used = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name: used }));
    const free = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name: free }));
    const large = overriddenReview(LARGE_REVIEWS.bytes);
    const largeReviews = async (webhook: { readonly url: string; readonly ca: string }) => {
      const client = webhookClient(webhook, LARGE_REVIEWS.parallel);
      await Promise.all(Array.from({ length: LARGE_REVIEWS.parallel }, () => askDirectly(client, large)));
      client.agent.destroy();
    };

    const rows: Table['rows'][number][] = [];
    const note = async (who: string, what: string, pid: number, work: () => Promise<void>) => {
      log(`${who}: ${what} …`);
      await forgetPeak(pid);
      await work();
      const { now, peak } = await memoryOf(pid);
      rows.push({ who, what, now, peak });
    };
    const rest = async () => {
      await pause(restMs);
    };

    const idle = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1e9)'], { stdio: 'ignore' });
    await note('node', 'does nothing', Number(idle.pid), rest);
    idle.kill();
    await note('node:https, JSON.parse', 'asked nothing yet', plain.pid, rest);
    await note('node:https, JSON.parse', PARALLEL_LARGE, plain.pid, () => largeReviews(plain));
    await note('guard', 'no node', guard.pid, rest);
    let made = 0;
    for (const nodes of fleets) {
      const configsOf = () => ({ currentConfig: used, desiredConfig: used });
      await note('guard', `${nodes} nodes join`, guard.pid, async () => {
        await createFleet(admin, { from: made, to: nodes, configsOf });
      });
      made = nodes;
      await note('guard', `${nodes} nodes, ${AT_REST}`, guard.pid, rest);
      await note('guard', `${nodes} nodes, ${LIVE_READS} live reads, one after another`, guard.pid, async () => {
        for (let index = 0; index < LIVE_READS; index += 1) await expectAllowed(admin, free);
      });
      await note(
        'guard',
        `${nodes} nodes, ${LIVE_READS} deletions that are allowed, in parallel`,
        guard.pid,
        async () => {
          await Promise.all(Array.from({ length: LIVE_READS }, () => expectAllowed(admin, free)));
        },
      );
    }
    await note('guard', PARALLEL_LARGE, guard.pid, () => largeReviews(guard));
    await note('guard', AFTERWARDS, guard.pid, rest);
    return [table(rows), goals(rows)];
  } finally {
    await guarded.stop();
  }
}

async function expectAllowed(admin: KubeClient, config: string): Promise<void> {
  const { status } = await admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
  if (status !== 200) throw new Error(`The deletion of a free config was answered ${status}.`);
}

function goals(rows: Table['rows']): Table {
  const guards = rows.filter(({ who, what }) => who === 'guard' && what !== PARALLEL_LARGE && what !== AFTERWARDS);
  const rested = guards.findLast(({ what }) => String(what).endsWith(AT_REST));
  return goalTable('Memory against what was wanted', [
    { what: `guard, ${rested?.['what']}, MB`, found: Number(rested?.['now']), atMost: 120 },
    {
      what: 'guard, at most until then and in all live reads, MB',
      found: Math.max(...guards.map(({ peak }) => Number(peak))),
      atMost: 160,
    },
  ]);
}

function table(rows: Table['rows']): Table {
  return {
    title: 'Resident memory, MB',
    columns: [
      { key: 'who', heading: 'process' },
      { key: 'what', heading: 'while' },
      { key: 'now', heading: 'at its end', digits: 1 },
      { key: 'peak', heading: 'at most', digits: 1 },
    ],
    rows,
    notes: [
      'MB are 10⁶ bytes; VmRSS and VmHWM of /proc, the latter counted afresh for each line. One process each, in the order of the lines.',
      'Of the figure of "node" nothing can be saved; all of its code and libraries are shared with other processes of the same image.',
    ],
  };
}
