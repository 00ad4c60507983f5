import { afterEach, beforeAll, expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { answerOf } from '../support/answer.ts';
import { Cluster } from '../support/cluster.ts';
import { probeDuring } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

/** Each is named by its own node, so the guard shares few GETs. */
const CONFIGS = 50;
const MAX_CONNECTIONS = 32;
/** Each watch has a connection of its own. */
const MAX_WATCHES = 6;
const MAX_RECOVERY_MS = 5_000;
const AFTERWARDS_MS = 3_000;

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

test(`answers 300 parallel deletions over at most ${MAX_CONNECTIONS} connections`, async () => {
  // A busy machine may need another attempt: its API server also calls the webhook 300 times.
  await expect.poll(() => deleteInParallel(300), { timeout: 50_000 }).toEqual(['in use']);
  expect(network.open).toBeLessThanOrEqual(MAX_CONNECTIONS + MAX_WATCHES);
});

test.each([20, 300])(
  'answers correctly 5 s after all open connections went silent, after %d deletions',
  async (count) => {
    let silentAt = Number.POSITIVE_INFINITY;
    const prober = await probeDuring(guarded.connection.admin, async () => {
      await deleteInParallel(count);
      network.freeze();
      silentAt = performance.now();
      await pause(MAX_RECOVERY_MS + AFTERWARDS_MS);
    });

    const { errors, faults } = prober;
    const late = faults.filter(({ answeredAt }) => answeredAt > silentAt + MAX_RECOVERY_MS);
    expect({ errors, late }).toEqual({ errors: [], late: [] });
  },
);

test('answers 300 parallel deletions in time if all open connections go silent meanwhile', async () => {
  const seen = new Set<string>();
  const freezeMeanwhile = async () => {
    await network.resume();
    const deletions = deleteInParallel(300);
    await pause(300);
    network.freeze();
    const answers = await deletions;
    for (const answer of answers) seen.add(answer);
    return answers.includes('guard unreachable');
  };
  // A busy machine may need another attempt: see above.
  await expect.poll(freezeMeanwhile, { timeout: 50_000 }).toBe(false);
  expect(['in use', 'unverified', 'guard unreachable']).toEqual(expect.arrayContaining([...seen]));
  expect(await deleteInParallel(1)).toEqual(['in use']);
});
