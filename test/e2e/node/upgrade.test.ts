import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { countAnswers } from '../chaos/run-fault.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { overlay } from '../support/overlays.ts';
import { probeDuring } from '../support/prober.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { log } from '../support/runner.ts';
import { ServiceCa } from '../support/service-ca.ts';
import { GuardPods, type GuardPod } from './guard-pods.ts';
import { buildPreviousImage } from './images.ts';
import { startNodeCluster } from './prepare.ts';

const OLD_MANIFESTS = join(import.meta.dirname, '../install/manifests-0.1.0.yaml');

const cluster = await startNodeCluster(await runBinaries(), 2, log);
const { controlPlane, nodes } = cluster;
const { admin, connection } = controlPlane.apiServer;
const serviceCa = new ServiceCa(controlPlane);
const pods = new GuardPods(cluster);

afterAll(async () => {
  await serviceCa.stop();
  await cluster.stop();
});

/** Imports the image of the previous release into all nodes, and returns its name. */
async function importPreviousImage(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mcg-images-'));
  const reaper = new ProcessReaper(directory);
  try {
    const image = await buildPreviousImage(directory);
    await Promise.all(nodes.map((node) => node.importImage(image)));
    return image.name;
  } finally {
    await reaper.reap();
  }
}

/** Sets the image in the overlay service-ca, and applies it. */
async function applyNewManifests() {
  const directory = await mkdtemp(join(controlPlane.directory, 'upgrade-'));
  const kustomization = {
    resources: [relative(directory, overlay('service-ca'))],
    images: [{ name: 'machineconfig-guard', newTag: '0.1.0' }],
  };
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
  await kubectlOk(controlPlane, ['apply', '--kustomize', directory]);
}

function imageOf({ status }: GuardPod) {
  return status.containerStatuses?.[0]?.imageID;
}

test('no call fails during the upgrade from the manifests and the image of 0.1.0', async () => {
  const image = await importPreviousImage();
  const oldManifests = await readFile(OLD_MANIFESTS, 'utf8');
  const oldImage = 'image: machineconfig-guard:latest';
  expect(oldManifests).toContain(oldImage);
  await kubectlOk(
    controlPlane,
    ['apply', '--filename', '-'],
    oldManifests.replace(oldImage, `image: ${image}`),
  );
  await pods.awaitRollout();
  await awaitGuardCalls(admin);
  const oldImages = new Set((await pods.list()).map(imageOf));

  const { probes, faults, errors } = await probeDuring(connection, async (prober) => {
    await applyNewManifests();
    await pods.awaitRollout();
    await prober.awaitMore(100);
  });

  console.log({ probes: probes.length, ...countAnswers(faults) });
  expect(errors).toEqual([]);
  expect(faults).toEqual([]);
  const newImages = new Set((await pods.list()).map(imageOf));
  expect([oldImages.size, newImages.size]).toEqual([1, 1]);
  expect(newImages).not.toEqual(oldImages);
}, 300_000);
