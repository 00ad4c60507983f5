import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import type { GuardStatus } from '../../../src/status/status-writer.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { parseJsonLines } from '../support/guard-process.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';

const installed = await InstalledCluster.start();
const { cluster, controlPlane, replicas } = installed;
const directory = join(controlPlane.directory, 'no-machineconfig-access');
const manifests = relative(directory, MANIFESTS);
await mkdir(directory);
await writeFile(
  join(directory, 'kustomization.yaml'),
  JSON.stringify({
    resources: [join(manifests, 'overlays/service-ca')],
    components: [join(manifests, 'components/no-machineconfig-access')],
  }),
);
await installed.applyOverlay(directory);
await installed.awaitGuard();

afterAll(() => installed.stop());

test('denies the deletion of configs in use, and allows that of unused ones', async () => {
  const used = await cluster.config();
  const node = await cluster.node({ currentConfig: used });

  await cluster.expectDenied(used, [{ kind: 'Node', name: node, field: 'currentConfig' }]);

  await cluster.expectAllowed(await cluster.config());
});

test('says in the status that it cannot check whether configs exist', async () => {
  await cluster.node({ currentConfig: 'rendered-worker-missing' });
  let status: GuardStatus | undefined;
  const isReported = async () => {
    status = (await cluster.admin.find(PATHS.guard))?.status as GuardStatus | undefined;
    return status?.conditions.find(({ type }) => type === 'ReferencesConsistent')?.reason === 'Forbidden';
  };
  await until(() => `the status; the last one was ${JSON.stringify(status)}`, isReported, {
    timeoutMs: 40_000,
  });

  expect(status?.conditions.map((condition) => `${condition.type}=${condition.status}`)).toEqual([
    'Ready=True',
    'ReferencesConsistent=Unknown',
    'RestoresComplete=True',
    'CertificatesValid=True',
    'TLSProfileApplied=True',
  ]);
  expect(status).toMatchObject({ danglingReferences: [] });
  expect(status).not.toHaveProperty('danglingCount');
  expect(status).not.toHaveProperty('protectedConfigs');
}, 60_000);

test('logs once that it cannot read MachineConfigs', async () => {
  // oxlint-disable-next-line house/no-clock -- nothing reports a second attempt, which follows after 125 ms to 4 s
  await pause(5_000);
  for (const log of await replicas.readLogs()) {
    const lines = parseJsonLines<{ readonly msg: string; readonly resource?: string }>(log);
    const aboutConfigs = lines.filter(({ resource }) => resource === 'machineconfigs');
    expect(aboutConfigs.map(({ msg }) => msg)).toEqual([
      'cannot watch machineconfigs: the API server answered 403 Forbidden',
    ]);
  }
});

test('holds a config that a pool has left, and allows the deletion of others', async () => {
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '1h' });
  const name = unique('infra');
  const config = await cluster.config({ name: renderedName(name) });
  await cluster.pool({ name, spec: config });
  const next = await cluster.config({ name: renderedName(name) });
  await cluster.admin.patch(`${PATHS.pools}/${name}`, { spec: { configuration: { name: next } } });
  expect(statusOf(await cluster.delete(config)).message).toContain('MCG_HELD');
  await cluster.expectAllowed(await cluster.config({ name: renderedName('no-such-pool') }));
});
