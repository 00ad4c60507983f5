import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { DEPLOYMENT } from '../node/guard-pods.ts';
import { GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { countAnswers, probeDuring } from '../support/prober.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const oldManifests = await readFile(join(import.meta.dirname, 'manifests-0.1.0.yaml'), 'utf8');
await kubectlOk(controlPlane, ['apply', '--filename', '-'], oldManifests);
await pods.awaitRollout();
await awaitGuardCalls(cluster.admin);

test('no call fails during the upgrade from the manifests of 0.1.0', async () => {
  const before = new Set((await pods.list()).map(({ metadata }) => metadata.name));

  const { probes, faults, errors } = await probeDuring(cluster.connection.admin, async (prober) => {
    await installed.applyOverlay('service-ca');
    await pods.kubectl('set', 'image', DEPLOYMENT, `*=${GUARD_IMAGE}`);
    await pods.awaitRollout();
    await prober.awaitMore(100);
  });

  console.log({ probes: probes.length, ...countAnswers(faults) });
  expect(errors).toEqual([]);
  expect(faults).toEqual([]);
  const after = (await pods.list()).map(({ metadata }) => metadata.name);
  expect(after).toHaveLength(2);
  expect(after.filter((name) => before.has(name))).toEqual([]);
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
