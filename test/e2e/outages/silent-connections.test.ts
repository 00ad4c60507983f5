import { afterEach, beforeAll, expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { answerOf } from '../support/answer.ts';
import { Cluster } from '../support/cluster.ts';
import { probeDuring } from '../support/prober.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

/** Each is named by its own node, so the guard shares few GETs. */
const CONFIGS = IS_LONG ? 50 : 5;
const MAX_CONNECTIONS = 32;
/** Each watch has a connection of its own. */
const MAX_WATCHES = 8;

const guarded = await sharedGuardedCluster();
const { network } = guarded;
const cluster = new Cluster(guarded.connection);
const configs: string[] = [];

beforeAll(async () => {
  for (let index = 0; index < CONFIGS; index += 1) {
    const config = await cluster.config();
    await cluster.node({ currentConfig: config });
    configs.push(config);
  }
});

afterEach(() => network.resume());

/** Deletes configs in use, as dry runs, and returns the different answers. */
async function deleteInParallel(count: number) {
  const deletions = Array.from({ length: count }, (_, index) => configs[index % CONFIGS] ?? '');
  const responses = await Promise.all(deletions.map((config) => cluster.dryRun(config)));
  return [...new Set(responses.map(answerOf))];
}

test('answers correctly again after all open connections went silent', async () => {
  const { accepted } = network;
  const { errors } = await probeDuring(guarded.connection.admin, async (prober) => {
    await deleteInParallel(20);
    network.freeze();
    await prober.awaitRightAnswers(performance.now(), 5);
  });

  expect(errors).toEqual([]);
  expect(network.accepted).toBeGreaterThan(accepted);
});

// A promise of capacity, which a busy machine cannot keep: npm run test:e2e -- --long test/e2e/outages
test.runIf(IS_LONG)(`answers 300 parallel deletions over at most ${MAX_CONNECTIONS} connections`, async () => {
  expect(await deleteInParallel(300)).toEqual(['in use']);
  expect(network.open).toBeLessThanOrEqual(MAX_CONNECTIONS + MAX_WATCHES);

  const deletions = deleteInParallel(300);
  await pause(300);
  network.freeze();
  expect(['in use', 'unverified']).toEqual(expect.arrayContaining(await deletions));
});
