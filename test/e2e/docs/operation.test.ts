import { expect, test } from 'vitest';

import { sharedInstalledNodeCluster } from '../node/shared-node-cluster.ts';
import { DocumentedPage, PAGES } from '../support/documented-page.ts';
import { Shell } from '../support/shell.ts';

const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const installed = await sharedInstalledNodeCluster();
const { cluster } = installed;

test('the commands of docs/operate.md work in their order, and leave the guard enforcing', async () => {
  await installed.clear();
  await cluster.config({ name: CONFIG });
  await cluster.config();
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
  await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });
  const page = new DocumentedPage(PAGES.operation[0]);

  const isCheck = (line: string) => line === 'machineconfig-guard check';
  const shell = await Shell.open(installed.controlPlane);

  await page.run(shell, { isWanted: (line) => !isCheck(line) });
  // The page deletes the config by its annotation, and then check finds it missing.
  expect(await cluster.exists(CONFIG)).toBe(false);
  await cluster.config({ name: CONFIG });
  await page.run(shell, { isWanted: isCheck });

  expect(page.remaining).toEqual([]);
  await cluster.admin.delete(
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/machineconfig-guard-reader',
  );
  await installed.awaitGuard();
  expect((await cluster.dryRun(CONFIG)).status).toBe(403);
  await installed.clear();
}, 120_000);
