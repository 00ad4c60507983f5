import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;

// A node without annotations would add a warning to every allowed deletion.
await installed.clear();
await cluster.node({ currentConfig: 'rendered-worker-old', desiredConfig: 'rendered-worker-old' });

async function createPool(options: { spec?: string; status?: string }): Promise<string> {
  return (await cluster.pool(options)).metadata.name;
}

async function createDegradedNode(config: string): Promise<string> {
  const name = await cluster.node({ currentConfig: 'rendered-worker-old', desiredConfig: 'rendered-worker-old' });
  const reason = `machineconfig.machineconfiguration.openshift.io "${config}" not found`;
  await cluster.moveNode(name, { state: 'Degraded', reason });
  return name;
}

test.for<[kind: string, field: string, noun: string, refer: (config: string) => Promise<string>]>([
  ['Node', 'currentConfig', 'node', (config) => cluster.node({ currentConfig: config })],
  ['Node', 'desiredConfig', 'node', (config) => cluster.node({ desiredConfig: config })],
  ['Node', 'reason', 'node', createDegradedNode],
  ['MachineConfigPool', 'spec', 'pool', (config) => createPool({ spec: config })],
  ['MachineConfigPool', 'status', 'pool', (config) => createPool({ status: config })],
  ['MachineOSBuild', 'machineConfig', 'build', (config) => cluster.build(config, 'Building')],
])('denies and names the referrer when only %s %s names the config', async ([kind, field, noun, refer]) => {
  const config = await cluster.config();
  const name = await refer(config);

  const response = await cluster.expectDenied(config, [{ kind, name, field }]);

  expect(statusOf(response).message).toContain(`is in use by ${noun} ${name} (${field}).`);
});

test('allows with a warning when only a finished build names it', async () => {
  const config = await cluster.config();
  const name = await cluster.build(config, 'Succeeded');

  const response = await cluster.expectAllowed(config, [{ kind: 'MachineOSBuild', name, field: 'machineConfig' }]);

  expect(response.warnings).toContainEqual(expect.stringContaining(`build ${name}`));
});
