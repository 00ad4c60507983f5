import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { Cluster, deleted, refusedInUse } from '../support/cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

let guarded: GuardedCluster;
let cluster: Cluster;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  cluster = new Cluster(guarded.connection);
});

afterAll(() => guarded.stop());

test('after a restart of the API server the guard is right again, without one of its own', async () => {
  const [used, free, next] = [await cluster.config(), await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: used });
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(used, await cluster.delete(used))).toEqual(refusedInUse(used, referrers));

  await guarded.controlPlane.apiServer.restart();

  // From the first answer on: refused, if only because it could not be verified yet.
  const response = await until(
    'the guard to know who uses the config',
    async () => {
      const attempt = await cluster.delete(used);
      expect([403, 503]).toContain(attempt.status);
      return attempt.status === 403 && attempt;
    },
    { timeoutMs: 30_000 },
  );
  expect(await cluster.outcome(used, response)).toEqual(refusedInUse(used, referrers));
  expect(await cluster.outcome(free, await cluster.delete(free))).toEqual(deleted(free));

  await cluster.moveNode(node, { currentConfig: next });
  expect(await cluster.outcome(used, await cluster.delete(used))).toEqual(deleted(used));
  await until(
    'the index to have heard of a change after the restart',
    async () => {
      expect((await cluster.delete(next)).status).toBe(403);
      return (await decisionsAbout(guarded.guard.log, next)).some(({ path }) => path === 'index');
    },
    { timeoutMs: 45_000, everyMs: 500 },
  );
  expect(guarded.guard.running).toBe(true);
}, 120_000);
