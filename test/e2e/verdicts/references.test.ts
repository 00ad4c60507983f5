import { expect, onTestFinished, test } from 'vitest';

import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;

// A node without annotations would add a warning to every allowed deletion.
await installed.clear();
await cluster.node({ currentConfig: 'rendered-worker-old', desiredConfig: 'rendered-worker-old' });

async function createPool(options: { spec?: string; status?: string }): Promise<string> {
  return (await cluster.pool(options)).metadata.name;
}

test.for([
  {
    kind: 'Node',
    field: 'currentConfig',
    noun: 'node',
    refer: (config: string) => cluster.node({ currentConfig: config }),
  },
  {
    kind: 'Node',
    field: 'desiredConfig',
    noun: 'node',
    refer: (config: string) => cluster.node({ desiredConfig: config }),
  },
  {
    kind: 'MachineConfigPool',
    field: 'spec',
    noun: 'pool',
    refer: (config: string) => createPool({ spec: config }),
  },
  {
    kind: 'MachineConfigPool',
    field: 'status',
    noun: 'pool',
    refer: (config: string) => createPool({ status: config }),
  },
  {
    kind: 'MachineOSBuild',
    field: 'machineConfig',
    noun: 'build',
    refer: (config: string) => cluster.build(config, 'Building'),
  },
])('denies and names the referrer when only $kind $field names the config', async ({ kind, field, noun, refer }) => {
  const config = await cluster.config();
  const name = await refer(config);

  const response = await cluster.expectDenied(config, [{ kind, name, field }]);

  expect(statusOf(response).message).toContain(`is in use by ${noun} ${name} (${field}).`);
});

test('allows with a warning when only a finished build names it', async () => {
  const config = await cluster.config();
  const name = await cluster.build(config, 'Succeeded');

  const response = await cluster.expectAllowed(config, [{ kind: 'MachineOSBuild', name, field: 'machineConfig' }]);

  expect(response.warnings).toEqual([expect.stringContaining(`build ${name}`)]);
});

test('allows when only a terminating pool names the config', async () => {
  const config = await cluster.config();
  const finalizers = ['e2e.machineconfig-guard.io/hold'];
  const pool = await cluster.pool({ spec: config, status: config, finalizers });
  const path = `${PATHS.pools}/${pool.metadata.name}`;
  onTestFinished(async () => {
    await cluster.admin.patch(path, { metadata: { finalizers: null } });
  });
  expect((await cluster.delete(config)).status).toBe(403);

  expectStatus(await cluster.admin.delete(path), [200], `DELETE ${path}`);
  expect((await cluster.admin.find(path))?.metadata.deletionTimestamp).toBeDefined();

  await cluster.expectAllowed(config);
});
