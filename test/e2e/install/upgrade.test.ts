import { join } from 'node:path';

import { expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { DEPLOYMENT } from '../node/guard-pods.ts';
import { GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const oldManifests = join(import.meta.dirname, 'manifests-0.1.0.yaml');
await kubectlOk(controlPlane, ['apply', '--filename', oldManifests]);
await installed.awaitGuard();

test('no call fails during the upgrade from the manifests of 0.1.0', async () => {
  const before = await pods.list();
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    await installed.applyOverlay('service-ca');
    await pods.kubectl('set', 'image', DEPLOYMENT, `*=${GUARD_IMAGE}`);
    await pods.awaitRollout();
    await prober.awaitMore(100);
  });

  expect(faults).toEqual([]);
  const names = (await pods.list()).map(({ metadata }) => metadata.name);
  expect(names).toHaveLength(2);
  for (const { metadata } of before) expect(names).not.toContain(metadata.name);
}, 120_000);

test('every config can be deleted 1 s after the overlay was deleted', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  await installed.deleteOverlay('service-ca');
  await pause(1_000);

  expect((await cluster.delete(config)).status).toBe(200);
  const findNamespace = () => cluster.admin.find(PATHS.guardNamespace);
  await expect.poll(findNamespace, { timeout: 30_000 }).toBeUndefined();
}, 120_000);
