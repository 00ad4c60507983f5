import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';

const RESTARTS = 3;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

test('rolling restarts under steady deletions: not one call fails, not one is answered wrongly', async () => {
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(100);

  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const restarting = ['rollout', 'restart', 'deployment/machineconfig-guard', '--namespace=machineconfig-guard'];
    await kubectlOk(installed.controlPlane, restarting);
    await installed.kubelet.settled(60_000);
    await load.more(50);
  }
  const asked = await load.stop();

  expect(load.faults).toEqual([]);
  expect(asked.length).toBeGreaterThan(500);
  // It is nothing to survive restarts that did not happen, or during which nobody was asked: of each generation one was, at
  // least (the API server may keep its connections to the same one).
  const pods = installed.kubelet.history;
  expect(pods).toHaveLength(2 * (RESTARTS + 1));
  const wasAsked = await Promise.all(pods.map(async ({ log }) => (await readFile(log, 'utf8')).includes('"verdict":')));
  for (let first = 0; first < pods.length; first += 2) expect(wasAsked.slice(first, first + 2)).toContain(true);
}, 180_000);
