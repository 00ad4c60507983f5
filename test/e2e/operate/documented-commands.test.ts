import { afterAll, beforeAll, expect, test } from 'vitest';

import { DocumentedPage } from '../support/documented-page.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';

const PAGE = DocumentedPage.read('docs/operate.md');
const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';

let installed: InstalledCluster;
let shell: Shell;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  const { cluster, controlPlane } = installed;
  await cluster.config({ name: CONFIG });
  await cluster.config();
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
  await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });
  // Nothing but what the page tells of.
  await removeTheAwaited(cluster);
  shell = await Shell.open(controlPlane);
}, 120_000);

afterAll(() => installed.stop());

/** The node by which it was seen that the guard answers is none that reports all that `check` looks for. */
async function removeTheAwaited({ admin }: InstalledCluster['cluster']): Promise<void> {
  for (const { metadata } of await admin.list(PATHS.nodes)) {
    if (metadata.name.startsWith('awaited')) await admin.delete(`${PATHS.nodes}/${metadata.name}`);
  }
}

test('every command of docs/operate.md does what it says, in its order', async () => {
  await PAGE.type(shell);
  expect(PAGE.left).toEqual([]);
  // Each step was undone: the config is protected as before.
  await installed.awaitGuard();
  expect((await installed.dryRun(CONFIG)).status).toBe(403);
}, 120_000);
