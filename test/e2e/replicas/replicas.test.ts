import { expect, test } from 'vitest';

import { DEPLOYMENT } from '../node/guard-pods.ts';
import { sharedInstalledNodeCluster } from '../node/shared-node-cluster.ts';
import { probeCalls } from '../support/prober.ts';
import { IS_LONG } from '../support/runner.ts';

const RESTARTS = IS_LONG ? 5 : 1;
const { cluster, replicas: pods } = await sharedInstalledNodeCluster();

test('no call fails during a restart, and another replica writes the status', async () => {
  const before = await pods.list();
  const failedCalls = await probeCalls(cluster.admin, async (prober) => {
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await pods.kubectl('rollout', 'restart', DEPLOYMENT);
      await pods.awaitRollout();
      await prober.awaitRightAnswers(3);
    }
  });

  expect(failedCalls).toEqual([]);
  const names = (await pods.list()).map(({ metadata }) => metadata.name);
  expect(names).toHaveLength(2);
  for (const { metadata } of before) expect(names).not.toContain(metadata.name);
  expect((await pods.readLogs()).join('')).toContain('"verdict":');
  const { protectedConfigs: protectedBefore } = await cluster.awaitStatus(() => true);
  await cluster.node({ currentConfig: await cluster.config() });
  // A stopping leader releases the Lease. The other replica tries to acquire it every 26 s.
  await cluster.awaitStatus(({ protectedConfigs }) => (protectedConfigs ?? 0) > (protectedBefore ?? 0));
});
