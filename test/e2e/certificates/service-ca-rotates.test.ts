import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';

const ROTATIONS = 3;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

async function timesLoaded(): Promise<readonly number[]> {
  const logs = await Promise.all(installed.kubelet.pods.map(({ log }) => readFile(log, 'utf8')));
  return logs.map((log) => log.split('"fingerprint256"').length - 1);
}

test('the service CA exchanges authority and Secret under steady deletions: not one call fails, nothing is restarted', async () => {
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(50);
  const before = await timesLoaded();

  for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
    await installed.serviceCa.rotate();
    await expect.poll(timesLoaded, { timeout: 15_000 }).toEqual(before.map((count) => count + rotation));
    await load.more(50);
  }
  await load.stop();

  expect(load.faults).toEqual([]);
  expect(installed.kubelet.history).toHaveLength(2);
}, 120_000);
