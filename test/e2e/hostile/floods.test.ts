import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, afterEach, expect, test } from 'vitest';
import { parse } from 'yaml';

import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import { memoryOf, resetPeak } from '../../bench/memory.ts';
import { nodeUpdateBody } from '../../support/review.ts';
import { pause, until } from '../control-plane/until.ts';
import type { KubeResponse } from '../control-plane/kube-client.ts';
import { answerOf } from '../support/answer.ts';
import { isDeniedInUse, unique } from '../support/cluster.ts';
import { createMemoryCgroup } from '../support/memory-cgroup.ts';
import { renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';
import { connectMany, createFloods, Flood, sendUnfinishedBodies } from './flood.ts';

const MIB = 1024 * 1024;
const DELETIONS = 35;
const DELETION_INTERVAL_MS = 100;
const IDLE_MB = 200;
/** Few enough that the guard looks up the config of each one in time. */
const PARALLEL_REVIEWS = 10;

const deployment = parse(await readFile(join(MANIFESTS, 'base', 'deployment.yaml'), 'utf8')) as {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
};
interface Container {
  readonly resources: { readonly limits: { readonly memory: string } };
}
const { memory } =
  deployment.spec.template.spec.containers[0]?.resources.limits ?? expect.fail('no limit');
const limitBytes = Number.parseInt(memory, 10) * MIB;

const guarded = await sharedGuardedCluster();
const cgroup = await createMemoryCgroup(unique('mcg'), limitBytes);
await guarded.launchGuard(() => Promise.resolve({ script: `${cgroup.enter}; exec "$@"` }));
const attacker = await Attacker.create(guarded);

// Printed, not compared: on a busy machine the process itself waits for a processor.
afterEach(async ({ task }) => {
  console.info(`${task.name}: the event loop waited at most ${await guarded.readEventLoopDelayMs()} ms`);
});

afterAll(async () => {
  expect(await findDamage(guarded)).toEqual([]);
  await guarded.launchGuard();
  await cgroup.remove();
});

/**
 * Deletes the used config again and again, and returns the answers that are no denial of the guard. With
 * `failurePolicy: Ignore` these would be allowed deletions.
 */
async function findWrongAnswers() {
  const answers: Promise<string | undefined>[] = [];
  for (let index = 0; index < DELETIONS; index += 1) {
    const answer = attacker.cluster.delete(attacker.usedConfig);
    answers.push(
      answer.then((response) => (isDeniedByGuard(response) ? undefined : JSON.stringify(response.body))),
    );
    await pause(DELETION_INTERVAL_MS);
  }
  return (await Promise.all(answers)).filter((answer) => answer !== undefined);
}

/** On a machine with too little time for the flood, the guard can answer MCG_UNVERIFIED. */
function isDeniedByGuard(response: KubeResponse) {
  return ['in use', 'unverified'].includes(answerOf(response));
}

// First, because the other floods also leave memory behind.
test('1,900 connections with unfinished bodies stay within the memory limit, and leave little behind', async () => {
  const { pid } = guarded.guard;
  await resetPeak(pid);
  const sockets = await sendUnfinishedBodies(attacker, 1_900);
  expect(isDeniedInUse(await attacker.cluster.delete(attacker.usedConfig))).toBe(true);
  await pause(5_000);
  for (const socket of sockets) socket.destroy();
  expect((await memoryOf(pid)).peak * 1e6).toBeLessThan(limitBytes);
  let now = 0;
  const describe = () => `less than ${IDLE_MB} MB, not ${now} MB`;
  const isIdle = async () => {
    ({ now } = await memoryOf(pid));
    return now < IDLE_MB;
  };
  await until(describe, isIdle, {
    timeoutMs: 60_000,
    everyMs: 1_000,
  });
  expect(guarded.guard.pid).toBe(pid);
}, 180_000);

test.each(createFloods(attacker))(
  'answers every deletion while reviews with %s flood it over %d connections',
  async (_title, connections, review) => {
    const request = attacker.request(review);
    const flood = await Flood.start(attacker, connections, () => request);
    try {
      expect(await findWrongAnswers()).toEqual([]);
      expect(flood.answers).toBeGreaterThan(0);
    } finally {
      flood.stop();
    }
  },
  120_000,
);

test('answers every deletion while updates that reference made-up configs flood it', async () => {
  const target = '/validate-references?timeout=3s';
  const createRequest = () => {
    const annotations = { 'machineconfiguration.openshift.io/desiredConfig': renderedName() };
    const oldObject = { metadata: { name: 'forged' } };
    const object = { metadata: { name: 'forged', annotations } };
    return attacker.request(JSON.stringify(nodeUpdateBody({ object, oldObject })), { target });
  };
  const flood = await Flood.start(attacker, 64, createRequest);
  try {
    expect(await findWrongAnswers()).toEqual([]);
    expect(flood.answers).toBeGreaterThan(0);
  } finally {
    flood.stop();
  }
}, 120_000);

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
      // A whole request made a connection useful.
      connectMany(attacker, 2_100, 'GET / HTTP/1.1\r\nHost: guard\r\n\r\n').finally(
        () => (attack.isOver = true),
      ),
      deleteWhile(config, () => !attack.isOver),
    ]);
    for (const socket of sockets) socket.destroy();
    expect(new Set(statuses)).toEqual(new Set([200]));
  } finally {
    guarded.throttle.throttling = {};
  }
}, 120_000);

/** Deletes a config again and again, as dry runs, and returns the statuses. */
async function deleteWhile(config: string, isGoingOn: () => boolean): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (isGoingOn()) statuses.push((await attacker.cluster.dryRun(config)).status);
  return statuses;
}
