import { afterAll, beforeAll, expect, test } from 'vitest';

import { DocumentedPage } from '../support/documented-page.ts';
import { awaitFloor, BINDINGS } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';

const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const PAGE = DocumentedPage.read('docs/policy-floor.md');

let installed: InstalledCluster;
let shell: Shell;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  shell = await Shell.open(installed.controlPlane);
  const { cluster } = installed;
  await cluster.config({ name: CONFIG });
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
  await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });
}, 120_000);

afterAll(() => installed.stop());

test('every command of docs/policy-floor.md, in its order', async () => {
  await PAGE.type(shell, { under: 'Apply it', isWanted: (line) => line.startsWith('oc apply') });
  await awaitFloor(installed);

  const dryRun = `oc delete --dry-run=server machineconfig $(oc get machineconfigpool worker -o jsonpath='{.spec.configuration.name}')`;
  const typed = await PAGE.type(shell, {
    under: 'Apply it',
    isWanted: (line) => !line.startsWith('oc apply'),
    exitCodes: { [dryRun]: 1 },
  });
  expect(typed.at(-1)?.stderr).toContain(`MCG_IN_USE: ${CONFIG} is in use by `);

  await PAGE.type(shell, { under: 'Remove it' });
  expect(await installed.cluster.admin.list(BINDINGS)).toEqual([]);
  expect(PAGE.left).toEqual([]);
}, 120_000);
