import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { overlay } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';

const OLD_RELEASE = fileURLToPath(new URL('manifests-0.1.0.yaml', import.meta.url));
const NAMESPACE = `${PATHS.namespaces}/machineconfig-guard`;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await kubectlOk(installed.controlPlane, ['apply', '--filename', OLD_RELEASE]);
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

/** Applies today's overlay with another image, as somebody who upgrades does. */
async function applyNewRelease(): Promise<void> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'mcg-upgrade-')));
  const image = { name: 'machineconfig-guard', newName: 'registry.example.com/machineconfig-guard', newTag: 'new' };
  const kustomization = { resources: [relative(directory, overlay('service-ca'))], images: [image] };
  try {
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    await installed.applyOverlay(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

test('from the manifests of the old release to these under steady deletions: no call fails, none is answered wrongly', async () => {
  const before = installed.kubelet.pods;
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(100);

  await applyNewRelease();
  await installed.kubelet.settled(60_000);
  await load.more(100);
  await load.stop();

  expect(load.faults).toEqual([]);
  expect(installed.kubelet.pods).toHaveLength(2);
  for (const pod of installed.kubelet.pods) expect(before).not.toContain(pod);
}, 120_000);

test('uninstalled: one second later everything can be deleted', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  await installed.deleteOverlay('service-ca');
  await pause(1_000);

  expect((await cluster.delete(config)).status).toBe(200);
  await until('the namespace to go', async () => (await cluster.admin.find(NAMESPACE)) === undefined, {
    timeoutMs: 30_000,
  });
  await installed.kubelet.settled();
}, 120_000);

test('the pods removed without the webhook configuration: the error names the cure, and the cure works', async () => {
  const { cluster } = installed;
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  const config = await cluster.config();

  await cluster.admin.delete(NAMESPACE);
  await until('the namespace to go', async () => (await cluster.admin.find(NAMESPACE)) === undefined, {
    timeoutMs: 60_000,
  });

  // As docs/troubleshooting.md quotes it. Dry runs, because a pod on its way out may still answer.
  await expect
    .poll(async () => statusOf(await installed.dryRun(config)).message, { timeout: 10_000 })
    .toBe(
      'Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": failed to call webhook: Post "https://machineconfig-guard.machineconfig-guard.svc:443/validate?timeout=5s": service "machineconfig-guard" not found',
    );
  await kubectlOk(installed.controlPlane, ['delete', 'validatingwebhookconfiguration', 'machineconfig-guard']);
  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 5_000 }).toBe(200);
}, 120_000);
