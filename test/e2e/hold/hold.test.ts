import { basename } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { StoredConfig } from '../../../src/references/servable-configs.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { GUARD_USER } from '../support/guarded-cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';

const HOLD_MS = 4_000;
const DEFAULT_HOLD_MS = 7_200_000;
const HOLD = { mode: 'Enforce', holdSuperseded: `${HOLD_MS / 1_000}s` } as const;

const installed = await InstalledCluster.start();
const { cluster, replicas } = installed;
await installed.applyOverlay('service-ca');
await installed.awaitGuard();
// The guard allows no deletion if the list of nodes is empty.
await cluster.node({ currentConfig: 'rendered-worker-other' });

afterAll(() => installed.stop());
beforeAll(() => installed.setSettings(HOLD));

/** A pool without machines, as the operator writes it, and its configs. */
async function createPool() {
  const name = unique('infra');
  const createConfig = () => cluster.config({ name: renderedName(name) });
  const first = await createConfig();
  await cluster.pool({ name, spec: first, status: first });
  const path = `${PATHS.pools}/${name}`;
  return {
    name,
    path,
    first,
    createConfig,
    /** Names another config in the spec, as the render controller does. */
    setSpec: (config: string) => cluster.admin.patch(path, { spec: { configuration: { name: config } } }),
    /** Ends the roll-out. Returns the time before. */
    setStatus: async (config: string) => {
      const startedAt = performance.now();
      const lastTransitionTime = new Date().toISOString();
      const conditions = [
        { type: 'Updated', status: 'True', lastTransitionTime, reason: '', message: '' },
      ];
      await cluster.admin.patch(`${path}/status`, {
        status: { configuration: { name: config }, conditions },
      });
      return startedAt;
    },
  };
}

/** Returns the message of the denial. */
async function expectHeld(config: string, reason: string) {
  const response = await cluster.delete(config);
  expect(response.status).toBe(403);
  const { message = '' } = statusOf(response);
  expect(message).toContain(`MCG_HELD: ${config} is held until`);
  expect(message).toContain(reason);
  expect(await cluster.exists(config)).toBe(true);
  return message;
}

/** Expects that the config can be deleted after the hold, and not before. */
async function expectHeldSince(startedAt: number, config: string, reason: string) {
  await expectHeld(config, reason);
  const isDeleted = async () => (await cluster.delete(config)).status === 200;
  await until(`the end of the hold of ${config}`, isDeleted, { timeoutMs: 3 * HOLD_MS, everyMs: 200 });
  expect(performance.now() - startedAt).toBeGreaterThan(HOLD_MS);
}

async function findStored(config: string) {
  const { status } = (await cluster.admin.find(PATHS.guard)) ?? {};
  const { servableConfigs = [] } = (status ?? {}) as { servableConfigs?: readonly StoredConfig[] };
  return servableConfigs.find(({ name }) => name === config);
}

/** Kills all replicas, runs a step while none is running, and waits until they run again. */
async function whileDown(step: () => Promise<unknown>) {
  await replicas.kill();
  // A killed leader would keep the Lease for 137 s. Replicas ask for it when they start, and then every 26 s.
  await cluster.admin.patch(PATHS.lease, { spec: { holderIdentity: '' } });
  await step();
  await replicas.awaitRollout();
}

test('holds both configs of a roll-out that was superseded in its middle', async () => {
  const { name, first, createConfig, setSpec, setStatus } = await createPool();
  const [superseded, last] = [await createConfig(), await createConfig()];
  await setSpec(superseded);
  const startedAt = performance.now();
  await setSpec(last);
  await expectHeld(superseded, `pool ${name} named it until 20`);
  await pause(1_000);
  const updatedAt = await setStatus(last);
  await Promise.all([
    expectHeldSince(startedAt, superseded, `pool ${name} named it until`),
    expectHeldSince(updatedAt, first, 'a machine may be booting with it'),
  ]);
}, 60_000);

test('holds a config that a paused pool has served for longer than the hold, and that of a roll-back', async () => {
  const paused = await createPool();
  const next = await paused.createConfig();
  await paused.setSpec(next);
  const rolledBack = await createPool();
  const younger = await rolledBack.createConfig();
  await rolledBack.setSpec(younger);
  await pause(HOLD_MS);
  const resumedAt = await paused.setStatus(next);
  const rolledBackAt = performance.now();
  await rolledBack.setSpec(rolledBack.first);
  await Promise.all([
    expectHeldSince(resumedAt, paused.first, `pool ${paused.name} named it until`),
    expectHeldSince(rolledBackAt, younger, `pool ${rolledBack.name} named it until`),
  ]);
}, 60_000);

test('holds the config of a deleted pool and of a removed node', async () => {
  const { name, path, first } = await createPool();
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });
  const startedAt = performance.now();
  await cluster.admin.delete(path);
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
  await expectHeld(config, `node ${node} that named it was removed at`);
  // The node reads the name from its disk.
  await cluster.node({ name: node, currentConfig: config });
  await cluster.expectDenied(config, [{ kind: 'Node', name: node, field: 'currentConfig' }]);
  await expectHeldSince(startedAt, first, `pool ${name} named it until`);
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
}, 60_000);

test('holds a config longer while a node has not reported one', async () => {
  const { first, createConfig, setSpec, setStatus } = await createPool();
  for (const os of ['linux', 'windows'] as const) await cluster.unmanagedNode(os);
  const fresh = await cluster.node();
  const next = await createConfig();
  await setSpec(next);
  await setStatus(next);
  // The status has whole seconds, rounded up.
  await pause(HOLD_MS + 1_000);
  await expectHeld(first, `and node ${fresh} has not reported its config`);
  await cluster.moveNode(fresh, { currentConfig: next });
  await cluster.expectAllowed(first);
}, 60_000);

test('holds 2 h by default, and an annotation overrides it', async () => {
  await installed.setSettings({ ...HOLD, holdSuperseded: null });
  const { path, first } = await createPool();
  await cluster.admin.delete(path);
  const removedAt = Date.now();
  const message = await expectHeld(first, `pool ${basename(path)} named it until`);
  const [, heldUntil = ''] = / is held until (\S+): /.exec(message ?? '') ?? [];
  expect(Math.abs(Date.parse(heldUntil) - removedAt - DEFAULT_HOLD_MS)).toBeLessThan(60_000);
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'CHG-7' };
  await cluster.admin.patch(`${PATHS.configs}/${first}`, { metadata: { annotations } });
  expect((await cluster.delete(first)).status).toBe(200);
  await installed.setSettings(HOLD);
}, 60_000);

test('continues after the leader is lost, the guard was down, and the status is deleted', async () => {
  await installed.setSettings({ ...HOLD, holdSuperseded: '1h' });
  const { name, first, createConfig, setSpec, setStatus } = await createPool();
  const [second, third] = [await createConfig(), await createConfig()];
  const removed = await cluster.config();
  const node = await cluster.node({ currentConfig: removed });
  await setSpec(second);
  await setStatus(second);
  await until('the first config in the status', async () => (await findStored(first))?.lastServable, {
    timeoutMs: 40_000,
  });
  await until('the node in the status', async () => (await findStored(removed))?.isOnNode);
  await replicas.kill(1);
  await expectHeldByAll(first, `pool ${name} named it until`);

  await whileDown(async () => {
    await setSpec(third);
    await setStatus(third);
    await cluster.admin.delete(`${PATHS.nodes}/${node}`);
  });
  // It may also have been named again meanwhile.
  await expectHeldByAll(first, `pool ${name} may have named it until`);
  await expectHeldByAll(second, `pool ${name} named it until`);
  await expectHeldByAll(removed, 'a node that named it was removed at');
  await cluster.admin.patch(`${PATHS.guard}/status`, { status: null });
  await expectHeldByAll(second, `pool ${name} named it until`);
  await until('the configs in the status', async () => (await findStored(second))?.lastServable, {
    timeoutMs: 40_000,
  });
}, 180_000);

test('holds what a pool may have named if nothing was remembered', async () => {
  const { name, first, createConfig, setSpec, setStatus } = await createPool();
  const next = await createConfig();
  await setSpec(next);
  await whileDown(async () => {
    await setStatus(next);
    await cluster.admin.patch(`${PATHS.guard}/status`, { status: null });
  });
  await expectHeldByAll(first, `pool ${name} may have named it until`);
  await cluster.expectAllowed(await cluster.config());
  await installed.setSettings({ ...HOLD, holdSuperseded: '0s' });
  await cluster.expectAllowed(first);
}, 120_000);

test('lists no MachineConfigs to hold one', async () => {
  await installed.setSettings(HOLD);
  const findLists = async () =>
    cluster.auditLog.events(
      ({ user, verb, objectRef }) =>
        user.username === GUARD_USER && verb === 'list' && objectRef?.resource === 'machineconfigs',
    );
  const { name, path, first } = await createPool();
  await cluster.admin.delete(path);
  const before = (await findLists()).length;
  expect(before).toBeGreaterThan(0);
  for (let call = 0; call < 20; call += 1) await expectHeld(first, `pool ${name} named it until`);
  // Each replica may check for an etcd restore.
  expect((await findLists()).length - before).toBeLessThanOrEqual(2);
}, 60_000);

/** The API server picks a replica for each connection, so several calls reach both. */
async function expectHeldByAll(config: string, reason: string) {
  const isCalled = async () => (await cluster.dryRun(config)).status !== 500;
  await until('an answer', isCalled, { timeoutMs: 10_000 });
  for (let call = 0; call < 6; call += 1) await expectHeld(config, reason);
}
