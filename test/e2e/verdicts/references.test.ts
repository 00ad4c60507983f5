import { expect, onTestFinished, test } from 'vitest';

import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;

// A node without annotations would add a warning to every allowed deletion.
await installed.clear();
await cluster.node({ currentConfig: 'rendered-worker-old', desiredConfig: 'rendered-worker-old' });

async function createPool(options: { spec: string; status: string }): Promise<string> {
  return (await cluster.pool(options)).metadata.name;
}

test.for([
  {
    kind: 'Node',
    field: 'currentConfig',
    noun: 'node',
    refer: (config: string, other: string) => cluster.node({ currentConfig: config, desiredConfig: other }),
  },
  {
    kind: 'Node',
    field: 'desiredConfig',
    noun: 'node',
    refer: (config: string, other: string) => cluster.node({ currentConfig: other, desiredConfig: config }),
  },
  {
    kind: 'MachineConfigPool',
    field: 'spec',
    noun: 'pool',
    refer: (config: string, other: string) => createPool({ spec: config, status: other }),
  },
  {
    kind: 'MachineConfigPool',
    field: 'status',
    noun: 'pool',
    refer: (config: string, other: string) => createPool({ spec: other, status: config }),
  },
  {
    kind: 'MachineOSBuild',
    field: 'machineConfig',
    noun: 'build',
    refer: (config: string) => cluster.build(config, 'Building'),
  },
])('denies and names the referrer when only $kind $field names the config', async ({ kind, field, noun, refer }) => {
  const config = await cluster.config();
  const name = await refer(config, await cluster.config());

  const response = await cluster.expectDenied(config, [{ kind, name, field }]);

  expect(statusOf(response).message).toContain(`is in use by ${noun} ${name} (${field}).`);
});

test.for(['Succeeded', 'Failed', 'Interrupted'] as const)(
  'allows with a warning when only a build with condition %s names the config',
  async (condition) => {
    const config = await cluster.config();
    const name = await cluster.build(config, condition);

    const response = await cluster.expectAllowed(config, [{ kind: 'MachineOSBuild', name, field: 'machineConfig' }]);

    expect(response.warnings).toEqual([expect.stringContaining(`build ${name}`)]);
    expect(response.warnings[0]?.length).toBeLessThanOrEqual(120);
  },
);

test('allows when only a terminating pool names the config', async () => {
  const config = await cluster.config();
  const pool = await cluster.pool({ spec: config, status: config, finalizers: ['e2e.machineconfig-guard.io/hold'] });
  const path = `${PATHS.pools}/${pool.metadata.name}`;
  onTestFinished(async () => void (await cluster.admin.patch(path, { metadata: { finalizers: null } })));
  expect((await cluster.delete(config)).status).toBe(403);

  expectStatus(await cluster.admin.delete(path), [200], `DELETE ${path}`);
  expect((await cluster.admin.find(path))?.metadata.deletionTimestamp).toBeDefined();

  await cluster.expectAllowed(config);
});

test('allows without a warning when nothing names the config', async () => {
  const response = await cluster.expectAllowed(await cluster.config());

  expect(response.warnings).toEqual([]);
});

test('allows as soon as the last referrer has moved to another config', async () => {
  const [config, next] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: config, desiredConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  await cluster.moveNode(node, { currentConfig: next, desiredConfig: next });

  await cluster.expectAllowed(config);
});

test('allows when a node names a longer name that starts with the name of the config', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: `${config}0`, desiredConfig: `${config}0` });

  await cluster.expectAllowed(config);
});

test('names three nodes and the pool and counts the rest when many objects name the config', async () => {
  const config = await cluster.config();
  const prefix = unique('worker');
  for (let index = 0; index < 12; index += 1) {
    await cluster.node({ name: `${prefix}-${index}`, currentConfig: config, desiredConfig: config });
  }
  const pool = await createPool({ spec: config, status: config });
  // One referrer in the index is enough for a denial, so the last one is missing until the watch delivers it.
  const isPoolIndexed = async () => statusOf(await cluster.dryRun(config)).message?.includes('(spec, status)');
  await until('the guard to index the pool', isPoolIndexed, { timeoutMs: 10_000 });

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  const { message } = statusOf(response);
  expect(message).toContain('is in use by 12 nodes (');
  expect(message).toContain('and 9 more)');
  expect(message).toContain(`pool ${pool} (spec, status)`);
  expect(message).not.toContain('\n');
  const { denied } = auditedVerdicts(await cluster.auditEvent(response));
  expect(denied?.referrers).toHaveLength(10);
  // 12 nodes and one pool with two references each, minus 10.
  expect(denied?.more).toBe(16);
});
