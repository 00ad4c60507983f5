import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { countAnswers } from '../chaos/run-fault.ts';
import { DEPLOYMENT, type GuardPod } from '../node/guard-pods.ts';
import { findPreviousImage, GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';
import { log } from '../support/runner.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const previous = await findPreviousImage(log);
await Promise.all(pods.cluster.nodes.map((node) => node.importImage(previous)));
const oldManifests = await readFile(join(import.meta.dirname, 'manifests-0.1.0.yaml'), 'utf8');
const withPreviousImage = oldManifests.replace('image: machineconfig-guard:latest', `image: ${previous.name}`);
await kubectlOk(controlPlane, ['apply', '--filename', '-'], withPreviousImage);
await pods.awaitRollout();
await awaitGuardCalls(cluster.admin);

/** The images that run. */
async function listImages(): Promise<readonly string[]> {
  const imageOf = ({ status }: GuardPod) => status.containerStatuses?.[0]?.imageID ?? '';
  return [...new Set((await pods.list()).map(imageOf))];
}

test('no call fails during the upgrade from the manifests and the image of 0.1.0', async () => {
  const before = await listImages();

  const { probes, faults, errors } = await probeDuring(cluster.connection.admin, async (prober) => {
    await installed.applyOverlay('service-ca');
    await pods.kubectl('set', 'image', DEPLOYMENT, `*=${GUARD_IMAGE}`);
    await pods.awaitRollout();
    await prober.awaitMore(100);
  });

  console.log({ probes: probes.length, ...countAnswers(faults) });
  expect(errors).toEqual([]);
  expect(faults).toEqual([]);
  expect(await pods.list()).toHaveLength(2);
  const after = await listImages();
  expect([before.length, after.length]).toEqual([1, 1]);
  expect(after).not.toEqual(before);
}, 120_000);

test('every config can be deleted after the overlay was deleted', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  await installed.deleteOverlay('service-ca');
  const deletionStatus = async () => (await cluster.delete(config)).status;
  await expect.poll(deletionStatus, { timeout: 30_000 }).toBe(200);
  const findNamespace = () => cluster.admin.find(PATHS.guardNamespace);
  await expect.poll(findNamespace, { timeout: 30_000 }).toBeUndefined();
}, 120_000);
