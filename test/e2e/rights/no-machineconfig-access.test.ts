import { afterAll, expect, test } from 'vitest';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { combine, overlay } from '../support/overlays.ts';

const installed = await InstalledCluster.start();
const { cluster, controlPlane } = installed;
await installed.applyOverlay(await combine(controlPlane, overlay('service-ca'), ['no-machineconfig-access']));
await installed.awaitGuard();

afterAll(() => installed.stop());

test('without the right to read configs, says so in the status, and denies the deletion of those in use', async () => {
  await cluster.node({ currentConfig: 'rendered-worker-missing' });
  const isForbidden = ({ reason }: { readonly reason: string }) => reason === 'Forbidden';
  const status = await cluster.awaitStatus(({ conditions }) => conditions.some(isForbidden));
  const types = status.conditions.filter(isForbidden).map(({ type }) => type);
  expect([types, 'danglingCount' in status]).toEqual([['ReferencesConsistent', 'OverridesUnused'], false]);
  const config = await cluster.config();
  await cluster.pool({ name: 'infra', spec: config });
  await cluster.expectDenied(config, [{ kind: 'MachineConfigPool', name: 'infra', field: 'spec' }]);
});
