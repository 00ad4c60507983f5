import { afterAll, beforeEach, expect, test } from 'vitest';

import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { toSeconds } from '../../../src/common/duration.ts';
import type { HoldStatus } from '../../../src/status/hold-status.ts';
import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runProgramOk } from '../support/program.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Longer than a test takes on any machine. */
const HOLD = { mode: 'Enforce', holdSuperseded: '1h' } as const;
const SHORT_HOLD_MS = 5 * SECOND;

const installed = await InstalledCluster.start();
const { cluster, controlPlane, replicas } = installed;
const { admin } = cluster;
await installed.applyOverlay('service-ca');
await installed.awaitGuard();
// The guard allows no deletion if the list of nodes is empty.
await cluster.node({ currentConfig: renderedName() });

afterAll(() => installed.stop());
beforeEach(() => installed.setSettings(HOLD));

/** A pool without machines, as the operator writes it, and its configs. */
async function createPool() {
  const name = unique('infra');
  const path = `${PATHS.pools}/${name}`;
  const createConfig = () => cluster.config({ name: renderedName(name) });
  /** Names another config in the spec, as the render controller does. */
  const setSpec = (config: string) => admin.patch(path, { spec: { configuration: { name: config } } });
  /** Ends the roll-out. */
  const setStatus = async (config: string) => {
    const lastTransitionTime = toSeconds(new Date());
    const conditions = [{ type: 'Updated', status: 'True', lastTransitionTime, reason: '', message: '' }];
    await admin.patch(`${path}/status`, { status: { configuration: { name: config }, conditions } });
  };
  /** Rolls out a new config, and returns its name. */
  const rollOut = async () => {
    const config = await createConfig();
    await setSpec(config);
    await setStatus(config);
    return config;
  };
  const first = await createConfig();
  await cluster.pool({ name, spec: first });
  await setStatus(first);
  return { name, path, first, createConfig, setSpec, setStatus, rollOut };
}

interface Pool {
  readonly metadata: { readonly managedFields: readonly { readonly time: string; readonly fieldsV1: object }[] };
  readonly status: { readonly conditions: readonly object[] };
}

const readPool = async (path: string) => (await admin.find(path)) as unknown as Pool;

/** When the API server says that the spec or the status of a pool was last written. */
async function readLastChange(path: string): Promise<number> {
  const { metadata } = await readPool(path);
  const entries = metadata.managedFields.filter(({ fieldsV1 }) => 'f:spec' in fieldsV1 || 'f:status' in fieldsV1);
  return Math.max(...entries.map(({ time }) => Date.parse(time)));
}

/** Changes the times that the API server has recorded, as if all writes of the pool were that old. */
async function backdate(path: string, ageMs: number): Promise<void> {
  const time = toSeconds(new Date(Date.now() - ageMs));
  const { status } = await readPool(path);
  const conditions = status.conditions.map((condition) => ({ ...condition, lastTransitionTime: time }));
  await admin.patch(`${path}/status`, { status: { conditions } });
  const { metadata } = await readPool(path);
  const managedFields = metadata.managedFields.map((entry) => ({ ...entry, time }));
  // The API server drops a write that changes only these times. The label is the change of another manager.
  const patch = { metadata: { managedFields, labels: { 'e2e-backdated': 'true' } } };
  const extras = { contentType: 'application/merge-patch+json', query: { fieldManager: 'e2e-backdate' } };
  expectStatus(await admin.request('PATCH', path, patch, extras), [200], `PATCH ${path}`);
  expect(await readLastChange(path)).toBe(Date.parse(time));
}

/** Expects a denial. Returns until when the guard holds the config, and its reason. */
async function expectHeld(config: string) {
  const tryDelete = async () => {
    const answer = await cluster.delete(config);
    return answer.status !== 503 && answer;
  };
  const response = await until('a verified answer', tryDelete);
  const { message = '' } = statusOf(response);
  const pattern = new RegExp(`MCG_HELD: ${config} is held until (?<until>\\S+Z): (?<reason>.*?)\\. Delete it`);
  expect([response.status, message]).toEqual([403, expect.stringMatching(pattern)]);
  expect(await cluster.exists(config)).toBe(true);
  const { until: heldUntil = '', reason = '' } = pattern.exec(message)?.groups ?? {};
  return { heldUntil: Date.parse(heldUntil), reason };
}

/** Shortens the hold, and deletes until the guard allows it. Returns when, by the clock of the API server. */
async function awaitEndOfHold(config: string): Promise<number> {
  await installed.setSettings({ ...HOLD, holdSuperseded: `${SHORT_HOLD_MS / SECOND}s` });
  const tryDelete = async () => {
    const response = await cluster.delete(config);
    return response.status === 200 && response;
  };
  const allowed = await until(`the end of the hold of ${config}`, tryDelete, { everyMs: 200 });
  return Date.parse((await cluster.auditEvent(allowed)).stageTimestamp);
}

/** Expects that the config is held for the whole hold after a change of its pool, by the clock of the API server. */
async function expectHeldSinceChange(config: string, path: string) {
  const { heldUntil, reason } = await expectHeld(config);
  const changedAt = await readLastChange(path);
  expect(heldUntil).toBeGreaterThanOrEqual(changedAt + HOUR);
  expect(reason).toMatch(/^pool \S+ last (?:changed|named it) at \S+Z, and a machine may be booting with it$/);
  expect(await awaitEndOfHold(config)).toBeGreaterThanOrEqual(changedAt + SHORT_HOLD_MS);
}

test.for<[condition: string, rollsBack: boolean]>([
  ['that a paused pool has served for hours, from when its status moves', false],
  ['that a pool rolls back from', true],
])('holds the config %s', async ([, rollsBack]) => {
  const { name, path, first, createConfig, setSpec, setStatus } = await createPool();
  const next = await createConfig();
  await setSpec(next);
  await backdate(path, 3 * HOUR);
  await cluster.expectDenied(first, [{ kind: 'MachineConfigPool', name, field: 'status' }]);
  // Otherwise the creation of the config could be as late as the change of its pool.
  await pause(2 * SECOND);
  await (rollsBack ? setSpec(first) : setStatus(next));
  await expectHeldSinceChange(rollsBack ? next : first, path);
});

test('a restart of the guard and the loss of the status change nothing', async () => {
  const { first, rollOut } = await createPool();
  await rollOut();
  const before = await expectHeld(first);
  await admin.patch(`${PATHS.guard}/status`, { status: null });

  await replicas.kill();
  await replicas.awaitRollout();

  // The API server picks a replica for each connection, so several calls reach both.
  await until('an answer', async () => (await cluster.dryRun(first)).status !== 500);
  for (let call = 0; call < 6; call += 1) expect((await expectHeld(first)).heldUntil).toBe(before.heldUntil);
});

test('a machine that turns ready holds nothing that its pool named long ago, and all say so', async () => {
  const holdSuperseded = '15s';
  const { name, first, rollOut, setStatus } = await createPool();
  const next = await rollOut();
  await installed.setSettings({ ...HOLD, holdSuperseded });
  await until('the end of the hold', async () => (await cluster.dryRun(first)).status === 200);
  const current = await rollOut();
  await pause(2 * SECOND);

  await setStatus(current);

  // By the rule without memory it would be held for 15 s. A watch can be late for a moment.
  const isAllowed = async () => (await cluster.dryRun(first)).status === 200;
  await until('an allowed deletion', isAllowed, { timeoutMs: 10 * SECOND });
  // The API server picks a replica for each connection.
  for (let call = 0; call < 6; call += 1) expect(await isAllowed()).toBe(true);
  const { resourceVersion } = (await admin.find(`${PATHS.pools}/${name}`))?.metadata ?? {};
  const status = await cluster.awaitStatus((written) => {
    const { watchedPools = [] } = written as Partial<HoldStatus>;
    return watchedPools.some((pool) => pool.name === name && pool.resourceVersion === resourceVersion);
  });
  expect((status as Partial<HoldStatus>).heldConfigs?.map((config) => config.name)).not.toContain(first);
  const { kubeconfig } = controlPlane.apiServer;
  const names = await runProgramOk('who-uses', '--unused', '-o', 'name', '--kubeconfig', kubeconfig);
  expect(names).toContain(`/${first}\n`);
  expect(await kubectlOk(controlPlane, ['get', 'mcguard', '-o', 'wide'])).toMatch(/HOLD +HELD +VERSION[^]* 15s +\d+ /);
  await installed.setSettings(HOLD);
  expect((await expectHeld(next)).reason).toMatch(/^pool \S+ last named it at /);
});

test('who-uses --unused knows the holds of the guard, and omits the names of held configs', async () => {
  const { name, first, rollOut } = await createPool();
  const owner = await admin.find(`${PATHS.pools}/${name}`);
  if (owner === undefined) throw new Error('the pool is gone');
  // Its name has no pool, but its owner is one. The API server serves lists of metadata in protobuf.
  const owned = await cluster.config({ name: unique('rendered-by-hand'), owner });
  await rollOut();
  const free = await cluster.config({ name: renderedName('no-such-pool') });
  const { kubeconfig } = controlPlane.apiServer;

  const json = await runProgramOk('who-uses', '--unused', '-o', 'json', '--kubeconfig', kubeconfig);

  const { configs } = JSON.parse(json) as ReferencesReport;
  const findHold = (config: string) => configs.find(({ name: unusedName }) => unusedName === config);
  expect(findHold(free)).toMatchObject({ heldUntil: null });
  for (const config of [first, owned]) {
    const { heldUntil } = await expectHeld(config);
    expect(Date.parse(findHold(config)?.heldUntil ?? '')).toBe(heldUntil);
  }
  const names = await runProgramOk('who-uses', '--unused', '-o', 'name', '--kubeconfig', kubeconfig);
  const printed = [free, first, owned].filter((config) => names.includes(`/${config}\n`));
  expect(printed).toEqual([free]);
});
