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

test('says in the status that it cannot check configs, and denies the deletion of those in use or held', async () => {
  await cluster.node({ currentConfig: 'rendered-worker-missing' });
  const status = await cluster.awaitStatus(({ conditions }) =>
    conditions.some(({ type, reason }) => type === 'ReferencesConsistent' && reason === 'Forbidden'),
  );
  expect(status.conditions.filter((condition) => condition.status !== 'True').map(({ type }) => type)).toEqual([
    'ReferencesConsistent',
    'OverridesUnused',
  ]);
  expect(status).not.toHaveProperty('danglingCount');

  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '1h' });
  const name = unique('infra');
  const [config, next] = [await cluster.config({ name: renderedName(name) }), await cluster.config()];
  await cluster.pool({ name, spec: config });
  await cluster.expectDenied(config, [{ kind: 'MachineConfigPool', name, field: 'spec' }]);
  await cluster.admin.patch(`${PATHS.pools}/${name}`, { spec: { configuration: { name: next } } });
  expect(statusOf(await cluster.delete(config)).message).toContain('MCG_HELD');
  await cluster.expectAllowed(await cluster.config({ name: renderedName('no-such-pool') }));
});
