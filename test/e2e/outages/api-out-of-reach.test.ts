import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { Cluster, deleted, refusedUnverified } from '../support/cluster.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** The webhook's timeoutSeconds. An answer that takes longer would be the API server's own. */
const TIMEOUT_MS = 5_000;

let guarded: GuardedCluster;
let cluster: Cluster;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  cluster = new Cluster(guarded.connection);
});

afterEach(async () => {
  await guarded.proxy.resume();
  const config = await cluster.config();
  await until('the guard to be right again', async () => (await cluster.delete(config)).status === 200, {
    timeoutMs: 30_000,
  });
});

afterAll(() => guarded.stop());

const CUTS = [
  { cut: 'refused', make: () => guarded.proxy.refuse() },
  { cut: 'swallowed without a sound', make: () => guarded.proxy.swallow() },
] as const;

test.for(CUTS)(
  'while its connections are $cut, the guard refuses what nothing uses in time: MCG_UNVERIFIED',
  async ({ make }) => {
    const config = await cluster.config();
    await make();

    // The first call meets connections that were open, the second has to make new ones.
    for (let call = 0; call < 2; call += 1) {
      const response = await cluster.delete(config);
      expect(await cluster.outcome(config, response)).toEqual(refusedUnverified(config));
      expect(response.ms).toBeLessThan(TIMEOUT_MS);
    }
  },
);

test.for(CUTS)(
  'while its connections are $cut, the guard refuses what is in use without calling it free',
  async ({ make }) => {
    const config = await cluster.config();
    await cluster.node({ currentConfig: config });
    await make();

    const response = await cluster.delete(config);

    expect([403, 503]).toContain(response.status);
    expect(response.ms).toBeLessThan(TIMEOUT_MS);
    const { says, exists } = await cluster.outcome(config, response);
    expect(['MCG_IN_USE', 'MCG_UNVERIFIED']).toContain(says);
    expect(exists).toBe(true);
  },
);

test.for(CUTS)(
  'while its connections are $cut, the annotation with a reason still lets a config be deleted',
  async ({ make }) => {
    const config = await cluster.config({
      annotations: { 'machineconfig-guard.io/allow-deletion': 'API out of reach' },
    });
    await cluster.node({ currentConfig: config });
    await make();

    const response = await cluster.delete(config);

    const { status, exists, audited } = await cluster.outcome(config, response);
    expect({ status, exists }).toEqual({ status: 200, exists: false });
    expect(audited).toMatchObject({ overridden: { name: config, code: 'MCG_OVERRIDDEN', reason: 'API out of reach' } });
    expect(response.ms).toBeLessThan(1_000);
  },
);

test('a cut in the middle of a decision is a refusal too', async () => {
  const config = await cluster.config();
  guarded.proxy.swallow();
  const pending = cluster.delete(config);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await guarded.proxy.refuse();

  const response = await pending;

  expect(await cluster.outcome(config, response)).toEqual(refusedUnverified(config));
  expect(response.ms).toBeLessThan(TIMEOUT_MS);
});

test('once the API answers again, so does the guard', async () => {
  const config = await cluster.config();
  await guarded.proxy.refuse();
  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(refusedUnverified(config));

  await guarded.proxy.resume();

  const response = await until(
    'the deletion to be allowed',
    async () => {
      const attempt = await cluster.delete(config);
      return attempt.status === 200 && attempt;
    },
    { timeoutMs: 10_000 },
  );
  expect(await cluster.outcome(config, response)).toEqual(deleted(config));
});
