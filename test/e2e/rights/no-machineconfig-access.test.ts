import { afterAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { renderedName } from '../support/objects.ts';
import { combine, overlay } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';

const installed = await InstalledCluster.start();
const { cluster, controlPlane } = installed;
await installed.applyOverlay(await combine(controlPlane, overlay('service-ca'), ['no-machineconfig-access']));
await installed.awaitGuard();

afterAll(() => installed.stop());

test('says in the status that it cannot check whether configs exist', async () => {
  await cluster.node({ currentConfig: 'rendered-worker-missing' });
  const status = await cluster.awaitStatus(({ conditions }) =>
    conditions.some(({ type, reason }) => type === 'ReferencesConsistent' && reason === 'Forbidden'),
  );

  expect(status.conditions.map((condition) => `${condition.type}=${condition.status}`)).toEqual([
    'Ready=True',
    'ReferencesConsistent=Unknown',
    'RestoresComplete=True',
    'OverridesUnused=Unknown',
    'CertificatesValid=True',
    'TLSProfileApplied=True',
  ]);
  expect(status).toMatchObject({ danglingReferences: [] });
  expect(status).not.toHaveProperty('danglingCount');
  expect(status).not.toHaveProperty('protectedConfigs');
});

test('denies the deletion of configs in use or held, and allows that of others', async () => {
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '1h' });
  const name = unique('infra');
  const [config, next] = [await cluster.config({ name: renderedName(name) }), await cluster.config()];
  // The guard allows no deletion if the list of nodes is empty.
  await cluster.node({ currentConfig: next });
  await cluster.pool({ name, spec: config });
  await cluster.expectDenied(config, [{ kind: 'MachineConfigPool', name, field: 'spec' }]);
  await cluster.admin.patch(`${PATHS.pools}/${name}`, { spec: { configuration: { name: next } } });
  expect(statusOf(await cluster.delete(config)).message).toContain('MCG_HELD');
  await cluster.expectAllowed(await cluster.config({ name: renderedName('no-such-pool') }));
});
