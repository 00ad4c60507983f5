import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';

import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import { memoryOf, resetPeak } from '../../bench/memory.ts';
import { unique } from '../support/cluster.ts';
import { createMemoryCgroup } from '../support/memory-cgroup.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { isRight, Prober } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';
import { createRecordFloods, createReviewFloods, createUnfinishedBodies, Flood } from './flood.ts';

const MIB = 1024 * 1024;
/** Deletions during a flood. Each may wait for 5 s, and they are sent without waiting for each other. */
const FLOODED_PROBES = 80;
/** Few enough that the guard looks up the config of each one in time. */
const PARALLEL_REVIEWS = 10;
/** More than the guard keeps open. */
const MANY_CONNECTIONS = 700;
const PARALLEL_HANDSHAKES = 10;

const deployment = parse(await readFile(join(MANIFESTS, 'base', 'deployment.yaml'), 'utf8')) as {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
};
interface Container {
  readonly resources: { readonly limits: { readonly memory: string } };
}
const { memory } = deployment.spec.template.spec.containers[0]?.resources.limits ?? expect.fail('no limit');
const limitBytes = Number.parseInt(memory, 10) * MIB;

const guarded = await sharedGuardedCluster();
const cgroup = await createMemoryCgroup(unique('mcg'), limitBytes);
await guarded.launchGuard(() => Promise.resolve({ script: `${cgroup.enter}; exec "$@"` }));
const attacker = await Attacker.create(guarded);
const metricsPort = Number(new URL(guarded.guard.metricsUrl).port);

afterAll(async () => {
  expect(await findDamage(guarded)).toEqual([]);
  await guarded.launchGuard();
  await cgroup.remove();
});

test.each([
  createUnfinishedBodies(attacker),
  ...createReviewFloods(attacker),
  ...createRecordFloods(attacker, metricsPort),
])(
  'answers no deletion wrongly during $title over $connections connections, and each one rightly afterwards',
  async (attack) => {
    const { pid } = guarded.guard;
    await resetPeak(pid);
    const prober = await Prober.start(guarded.connection.admin);
    try {
      await prober.awaitMore(20);
      const flood = await Flood.start(attacker, attack);
      const startedAt = performance.now();
      await prober.awaitMore(FLOODED_PROBES);
      await flood.stop();
      const stoppedAt = performance.now();
      const recoveredAt = await prober.awaitRightAnswers(stoppedAt, 5);
      await prober.stop();
      const { peak } = await memoryOf(pid);
      const flooded = prober.probes.filter(({ sentAt }) => sentAt >= startedAt && sentAt < stoppedAt);
      const right = flooded.filter(isRight).length;
      // The numbers of docs/threat-model.md.
      console.info(
        `${attack.title}: ${right} of ${flooded.length} deletions answered, ${Math.round(peak)} MB, ` +
          `right again after ${((recoveredAt - stoppedAt) / 1_000).toFixed(1)} s`,
      );
      expect(prober.errors).toEqual([]);
      expect(guarded.guard.pid).toBe(pid);
      expect(peak * 1e6).toBeLessThan(limitBytes);
    } finally {
      await prober.stop();
    }
  },
  300_000,
);

test('forged reviews read no list, write no Event and are counted apart', async () => {
  const reason = { [ALLOW_DELETION_ANNOTATION]: 'forged' };
  const lists = await guarded.readMetric('mcguard_live_reads_total');
  const reviews = Array.from({ length: 300 }, (_, index) =>
    attacker.forgedReview(index % 2 === 0 ? { annotations: reason } : { user: `user-${index}` }),
  );
  for (let index = 0; index < reviews.length; index += PARALLEL_REVIEWS) {
    const batch = reviews.slice(index, index + PARALLEL_REVIEWS);
    const answers = await Promise.all(batch.map((review) => attacker.send(attacker.request(review))));
    expect(new Set(answers.flat())).toEqual(new Set(['MCG_UNVERIFIED']));
  }
  expect(await guarded.readMetric('mcguard_live_reads_total')).toBe(lists);
  expect(await guarded.readMetric('mcguard_missing_config_reviews_total')).toBeGreaterThanOrEqual(300);
  const events = await attacker.cluster.admin.list('/apis/events.k8s.io/v1/events');
  expect(JSON.stringify(events)).not.toMatch(/forged|user-\d/);
}, 120_000);

test('more connections than the limit cut no call that is being answered', async () => {
  const config = await attacker.cluster.config();
  const attack = { isOver: false };
  // Each deletion is open for seconds.
  guarded.throttle.throttling = { delayMs: 500 };
  try {
    const [sockets, statuses] = await Promise.all([
      connectMany().finally(() => (attack.isOver = true)),
      deleteWhile(config, () => !attack.isOver),
    ]);
    for (const socket of sockets) socket.destroy();
    expect(new Set(statuses)).toEqual(new Set([200]));
  } finally {
    guarded.throttle.throttling = {};
  }
}, 120_000);

/** Opens connections that each deliver a whole request. */
async function connectMany(): Promise<readonly TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  while (sockets.length < MANY_CONNECTIONS) {
    const batch = await Promise.all(Array.from({ length: PARALLEL_HANDSHAKES }, () => attacker.connect()));
    for (const socket of batch) socket.resume().write('GET / HTTP/1.1\r\nHost: guard\r\n\r\n');
    sockets.push(...batch);
  }
  return sockets;
}

/** Deletes a config again and again, as dry runs, and returns the statuses. */
async function deleteWhile(config: string, isGoingOn: () => boolean): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (isGoingOn()) statuses.push((await attacker.cluster.dryRun(config)).status);
  return statuses;
}
