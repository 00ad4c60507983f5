import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';

const installed = await InstalledCluster.start();
const { cluster, controlPlane, kubelet } = installed;
const oldManifests = join(import.meta.dirname, 'manifests-0.1.0.yaml');
await kubectlOk(controlPlane, ['apply', '--filename', oldManifests]);
await installed.awaitGuard();

afterAll(() => installed.stop());

test('no call fails during the upgrade from the manifests of 0.1.0', async () => {
  const before = kubelet.pods;
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    await installed.applyOverlay('service-ca');
    const image = ['set', 'image', 'deployment/machineconfig-guard', '*=registry.example.com/guard:new'];
    await kubectlOk(controlPlane, [...image, '--namespace=machineconfig-guard']);
    await kubelet.awaitRollout();
    await prober.awaitMore(100);
  });

  expect(faults).toEqual([]);
  expect(kubelet.pods).toHaveLength(2);
  for (const pod of kubelet.pods) expect(before).not.toContain(pod);
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
