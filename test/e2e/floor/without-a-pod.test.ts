import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { auditedBy, awaitKnown, refusalOf, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

const SEE = 'See https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md#mcg_in_use';
/** Just below etcd's limit of 1.5 MiB for one request. */
const LARGEST = Math.floor(1.4 * 1024 * 1024);

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await startFloor();
}, 120_000);

afterAll(() => installed.stop());

test('no guard is running, and none is asked', async () => {
  expect(installed.kubelet.history).toEqual([]);
  expect(await installed.cluster.admin.list(PATHS.webhookConfigurations)).toEqual([]);
});

test.each([
  { fields: ['currentConfig'] },
  { fields: ['desiredConfig'] },
  { fields: ['currentConfig', 'desiredConfig'] },
])('a config that a node has as $fields is refused', async ({ fields }) => {
  const { cluster } = installed;
  const config = await cluster.config();
  const node = await cluster.node(Object.fromEntries(fields.map((field) => [field, config])));
  await awaitKnown(installed, config, ['nodes']);

  const response = await cluster.delete(config);

  expect(response.status).toBe(403);
  expect(statusOf(response).reason).toBe('Forbidden');
  expect(refusalOf(response)).toEqual({
    policy: 'nodes',
    message:
      `MCG_IN_USE: ${config} is in use by node ${node} (${fields.join(', ')}) and perhaps others. Deleting it would leave ` +
      `the node Degraded. Delete it once every node has moved on to another config. ${SEE}`,
  });
  expect(await cluster.exists(config)).toBe(true);
  const event = await cluster.auditEvent(response);
  expect(auditedBy('nodes', event)).toEqual({ denied: { name: config, code: 'MCG_IN_USE' } });
  expect(auditedBy('pools', event)).toEqual({});
  // Who, is told by the answer, which every audit event of a refusal has.
  expect(event.responseStatus).toMatchObject({ code: 403, message: expect.stringContaining(`in use by node ${node}`) });
});

test.each([{ fields: ['spec'] }, { fields: ['status'] }, { fields: ['spec', 'status'] }] as const)(
  'a config that a pool has in its $fields is refused',
  async ({ fields }) => {
    const { cluster } = installed;
    const config = await cluster.config();
    const pool = (await cluster.pool(Object.fromEntries(fields.map((field) => [field, config])))).metadata.name;
    await awaitKnown(installed, config, ['pools']);

    const response = await cluster.delete(config);

    expect(response.status).toBe(403);
    expect(statusOf(response).reason).toBe('Forbidden');
    expect(refusalOf(response)).toEqual({
      policy: 'pools',
      message:
        `MCG_IN_USE: ${config} is in use by pool ${pool} (${fields.join(', ')}) and perhaps others. Deleting it would leave ` +
        `the pool Degraded. Delete it once every pool has moved on to another config. ${SEE}`,
    });
    expect(await cluster.exists(config)).toBe(true);
    const event = await cluster.auditEvent(response);
    expect(auditedBy('pools', event)).toEqual({ denied: { name: config, code: 'MCG_IN_USE' } });
    expect(auditedBy('nodes', event)).toEqual({});
  },
);

test('where nodes and pools have it, both say so in the audit log, and one of them in the answer', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  await cluster.pool({ spec: config });
  await awaitKnown(installed, config, ['nodes', 'pools']);

  const response = await cluster.delete(config);

  expect(refusalOf(response)?.message).toMatch(/^MCG_IN_USE: /);
  const event = await cluster.auditEvent(response);
  const denied = { name: config, code: 'MCG_IN_USE' };
  expect([auditedBy('nodes', event), auditedBy('pools', event)]).toEqual([{ denied }, { denied }]);
});

test('what nothing uses is deleted, and leaves no annotation', async () => {
  const { cluster } = installed;
  const config = await cluster.config();

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  expect(response.warnings).toEqual([]);
  expect(await cluster.exists(config)).toBe(false);
  const event = await cluster.auditEvent(response);
  expect([auditedBy('nodes', event), auditedBy('pools', event)]).toEqual([{}, {}]);
});

// An expression that fails on one of these would refuse every deletion in the cluster.
test('nodes without annotations and pools without a configuration do not stand in the way', async () => {
  const { cluster } = installed;
  const [used, free] = [await cluster.config(), await cluster.config()];
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: unique('bare') } };
  expect((await cluster.admin.create(PATHS.nodes, bare)).metadata.annotations).toBeUndefined();
  await cluster.node({ name: unique('unreported') });
  expect((await cluster.pool()).status).toBeUndefined();
  await cluster.pool({ status: await cluster.config() });
  await cluster.node({ desiredConfig: used });
  await awaitKnown(installed, used, ['nodes']);

  expect((await cluster.delete(free)).status).toBe(200);
  expect(refusalOf(await cluster.delete(used))?.message).toContain(`MCG_IN_USE: ${used}`);
});

test('a node that has moved on lets its config go', async () => {
  const { cluster } = installed;
  const [old, next] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: old, desiredConfig: old });

  await cluster.moveNode(node, { desiredConfig: next });
  const said = async () => refusalOf(await installed.dryRun(old))?.message;
  await expect.poll(said, { timeout: 5_000 }).toContain(`node ${node} (currentConfig)`);

  await cluster.moveNode(node, { currentConfig: next });
  await expect.poll(async () => (await installed.dryRun(old)).status, { timeout: 5_000 }).toBe(200);
});

test('a source config is deleted although a node and a pool name it', async () => {
  const { cluster } = installed;
  const source = await cluster.config({ name: unique('99-worker') });
  await cluster.node({ currentConfig: source });
  await cluster.pool({ spec: source });
  const rendered = await cluster.config();
  await cluster.node({ currentConfig: rendered });
  await cluster.pool({ spec: rendered });
  // What is known of the later ones is known of those before them.
  await awaitKnown(installed, rendered, ['nodes', 'pools']);

  const response = await cluster.delete(source);

  expect(response.status).toBe(200);
  const event = await cluster.auditEvent(response);
  expect([auditedBy('nodes', event), auditedBy('pools', event)]).toEqual([{}, {}]);
});

test('a pool that is being deleted does not count', async () => {
  const { cluster } = installed;
  const config = await cluster.config();
  const { metadata } = await cluster.pool({
    spec: config,
    status: config,
    finalizers: ['e2e.machineconfig-guard.io/hold'],
  });
  const path = `${PATHS.pools}/${metadata.name}`;
  await awaitKnown(installed, config, ['pools']);

  await cluster.admin.delete(path);

  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 5_000 }).toBe(200);
  await cluster.admin.patch(path, { metadata: { finalizers: null } });
});

test('a config of 1.4 MiB gets the right answer, in use and free', async () => {
  const { cluster } = installed;
  const config = await cluster.config({ bytes: LARGEST });
  const node = await cluster.node({ currentConfig: config });
  await awaitKnown(installed, config, ['nodes']);
  expect(refusalOf(await cluster.delete(config))?.policy).toBe('nodes');

  await cluster.moveNode(node, { currentConfig: await cluster.config() });

  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 5_000 }).toBe(200);
});

test('a dry run is answered like the real thing, and deletes nothing', async () => {
  const { cluster } = installed;
  const [used, free] = [await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: used });
  await awaitKnown(installed, used, ['nodes']);

  expect(refusalOf(await installed.dryRun(used))?.policy).toBe('nodes');
  expect((await installed.dryRun(free)).status).toBe(200);
  expect(await cluster.exists(free)).toBe(true);
});
