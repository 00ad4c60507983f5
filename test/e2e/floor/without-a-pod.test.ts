import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { applyFloor, auditedBy, refusalOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const ALLOW = 'machineconfig-guard.io/allow-deletion';

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await applyFloor(installed);
}, 120_000);

afterAll(() => installed.stop());

test('no guard is running', () => {
  expect(installed.kubelet.history).toEqual([]);
});

test.each(['currentConfig', 'desiredConfig'] as const)('a config that a node has as %s is refused', async (field) => {
  const { cluster } = installed;
  const config = await cluster.config();
  const node = await cluster.node({ [field]: config });

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  expect(statusOf(response).reason).toBe('Forbidden');
  expect(refusalOf(response)).toEqual({
    policy: 'nodes',
    message: `MCG_IN_USE: ${config} is in use by node ${node} (${field}). Deleting it would leave the node Degraded. Delete it once the node has moved on to another config. See https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md#mcg_in_use`,
  });
  expect(await cluster.exists(config)).toBe(true);
  const denied = { name: config, code: 'MCG_IN_USE', referrers: [{ kind: 'Node', name: node, field }], more: 0 };
  expect(auditedBy('nodes', await cluster.auditEvent(response))).toEqual({ denied });
});

test.each(['spec', 'status'] as const)('a config that a pool has in its %s is refused', async (field) => {
  const { cluster } = installed;
  const config = await cluster.config();
  const pool = (await cluster.pool({ [field]: config })).metadata.name;

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  expect(refusalOf(response)).toMatchObject({
    policy: 'pools',
    message: expect.stringMatching(`^MCG_IN_USE: ${config} is in use by pool ${pool} \\(${field}\\)\\. `),
  });
  expect(await cluster.exists(config)).toBe(true);
  const referrers = [{ kind: 'MachineConfigPool', name: pool, field }];
  expect(auditedBy('pools', await cluster.auditEvent(response))).toEqual({
    denied: { name: config, code: 'MCG_IN_USE', referrers, more: 0 },
  });
});

test('what nothing uses is deleted, and leaves no annotation', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  await cluster.node({ name: unique('fresh') });

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  expect(await cluster.exists(config)).toBe(false);
  expect(auditedBy('nodes', await cluster.auditEvent(response))).toEqual({});
});

test('a source config is deleted although a node names it', async () => {
  const { cluster } = installed;
  const source = await cluster.config({ name: unique('99-worker') });
  await cluster.node({ currentConfig: source });

  expect((await cluster.delete(source)).status).toBe(200);
});

test('a pool that is being deleted does not count', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  const { metadata } = await cluster.pool({ spec: config });
  const path = `${PATHS.pools}/${metadata.name}`;
  await cluster.admin.patch(path, { metadata: { finalizers: ['machineconfig-guard.io/test'] } });
  await cluster.admin.delete(path);

  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 5_000 }).toBe(200);
  await cluster.admin.patch(path, { metadata: { finalizers: null } });
});

test('the annotation with a reason lets it go, and the reason is recorded as it was written', async () => {
  const { cluster } = installed;
  const reason = 'node is "scrap" \\ CHG-7';
  const config = await cluster.config({ annotations: { [ALLOW]: ` ${reason} ` } });
  const node = await cluster.node({ currentConfig: config });

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(auditedBy('nodes', await cluster.auditEvent(response))).toEqual({
    overridden: { name: config, code: 'MCG_OVERRIDDEN', referrers, more: 0, reason },
  });
});

test.each(['', '   '])(
  'the annotation without a reason (%j) does not count, and the refusal says so',
  async (reason) => {
    const { cluster } = installed;
    const config = await cluster.config({ annotations: { [ALLOW]: reason } });
    await cluster.node({ currentConfig: config });

    const response = await cluster.delete(config);

    expect(response.status).toBe(403);
    expect(refusalOf(response)?.message).toContain('Its allow-deletion annotation has no reason and does not count.');
  },
);

test('a dry run is refused like the real thing', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });

  expect(refusalOf(await installed.dryRun(config))?.policy).toBe('nodes');
});

test('of a collection, what is in use stays', async () => {
  const { cluster } = installed;
  const label = unique('collection');
  const labels = { collection: label };
  const [used, free] = [await cluster.config({ labels }), await cluster.config({ labels })];
  await cluster.node({ desiredConfig: used });

  await cluster.admin.delete(PATHS.configs, { labelSelector: `collection=${label}` });

  expect(await cluster.exists(used)).toBe(true);
  // The first refusal ends the request; asked again for the rest, it goes.
  await cluster.delete(free);
  expect(await cluster.exists(free)).toBe(false);
});
