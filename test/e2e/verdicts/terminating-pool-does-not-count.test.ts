import { expect, onTestFinished, test } from 'vitest';

import { expectStatus } from '../control-plane/kube-client.ts';
import { deleted, sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();

test('a config that only a pool which is being deleted names is deleted', async () => {
  const config = await cluster.config();
  const pool = await cluster.pool({ spec: config, status: config, finalizers: ['e2e.machineconfig-guard.io/hold'] });
  const path = `${PATHS.pools}/${pool.metadata.name}`;
  onTestFinished(async () => void (await cluster.admin.patch(path, { metadata: { finalizers: null } })));
  expect((await cluster.delete(config)).status).toBe(403);

  expectStatus(await cluster.admin.delete(path), [200], `DELETE ${path}`);
  expect((await cluster.admin.find(path))?.metadata.deletionTimestamp).toBeDefined();

  expect(await cluster.outcome(config, await cluster.delete(config))).toEqual(deleted(config));
});
