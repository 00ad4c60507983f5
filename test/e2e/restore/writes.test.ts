import { afterAll, expect, test } from 'vitest';

import type { ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { until } from '../control-plane/until.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { PATHS } from '../support/paths.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const MCO = 'machineconfiguration.openshift.io';
const MARKER = 'machineconfig-guard.io/paused-for-restore';
const stuck = await StuckCluster.shared();
const { cluster } = stuck;
const api = stuck.connect();

afterAll(() => api.close());

function toOptions({ missing }: StuckPool, options: Partial<RestoreOptions> = {}): RestoreOptions {
  const { config } = missing;
  return {
    configs: [config],
    isConfirmed: true,
    acceptContent: false,
    timeoutMs: 20_000,
    intervalMs: 50,
    ...options,
  };
}

type Reaction = readonly [RegExp, () => Promise<unknown>];

/** Calls `react` with the text of each step, one after another, as an operator would react to it. */
function reactTo(reactions: readonly Reaction[]) {
  const texts: string[] = [];
  const pending: Promise<unknown>[] = [];
  const onProgress = (text: string): void => {
    texts.push(text);
    for (const [pattern, react] of reactions) if (pattern.test(text)) pending.push(react());
  };
  return { texts, onProgress, finish: () => Promise.all(pending) };
}

/** The daemons are no longer Degraded once the restore waits for them. */
function leaveDegraded({ masters }: StuckPool): Reaction {
  return [/^waiting until/, () => Promise.all(masters.map((master) => stuck.setNodeState(master, 'Done')))];
}

/** The commands of `check` that unpause pools. */
async function checkPools(): Promise<readonly string[]> {
  const ignore = (): void => {};
  const options = {
    selector: undefined,
    minNodes: 1,
    waitMs: undefined,
    onReport: ignore,
    onFailure: ignore,
  };
  const { repairs } = await checkCluster(api, options);
  const formatter = new CommandFormatter('machineconfig-guard', {});
  return repairs.map((repair) => formatter.toClause(repair)).filter((clause) => clause.includes('paused'));
}

test('writes the config as the operator does, and the garbage collector keeps it', async () => {
  const pool = await stuck.createStuckPool({ masters: 3, status: 'rendered-master-other' });
  await stuck.setPoolStatus({ updatedMachineCount: 1 });
  const { name, spec } = pool.missing;
  const daemons = reactTo([leaveDegraded(pool)]);

  const report = await restore(api, toOptions(pool, { onProgress: daemons.onProgress }));

  await daemons.finish();
  expect(report).toMatchObject({ ok: true, configs: [{ outcome: 'restored' }], pausedPools: [] });
  const { uid } = (await stuck.getPool()).metadata;
  const { metadata, ...content } = (await stuck.findConfig(name)) ?? expect.fail('no config');
  expect(content).toEqual({ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', spec });
  expect(metadata.labels).toBeUndefined();
  expect(metadata.annotations).toEqual({
    [`${MCO}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
    [`${MCO}/release-image-version`]: '4.20.0',
  });
  const owner = { apiVersion: `${MCO}/v1`, kind: 'MachineConfigPool', name: 'master', uid };
  expect(metadata.ownerReferences).toEqual([{ ...owner, controller: true, blockOwnerDeletion: true }]);

  // The garbage collector deletes a config with an unknown owner at once, and this one after its pool.
  const orphan = await cluster.config({
    owner: {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineConfigPool',
      metadata: { name: 'master', uid: 'dead' },
    },
  });
  await until('the deletion of the orphan', async () => !(await cluster.exists(orphan)), {
    timeoutMs: 40_000,
  });
  expect(await cluster.exists(name)).toBe(true);
  await cluster.admin.delete(`${PATHS.pools}/master`, { propagationPolicy: 'Background' });
  await until('the deletion of the config', async () => !(await cluster.exists(name)), {
    timeoutMs: 40_000,
  });
}, 120_000);

test('without confirmation, writes nothing and plans every step', async () => {
  const pool = await stuck.createStuckPool();
  const before = await stuck.getPool();

  const report = await restore(api, toOptions(pool, { isConfirmed: false }));

  expect(report).toMatchObject({
    ok: true,
    confirmed: false,
    configs: [{ outcome: 'planned', pool: 'master' }],
  });
  expect(report.configs[0]?.steps.map(({ action }) => action)).toEqual([
    'PausePool',
    'CreateConfig',
    'SetPoolStatus',
    'AwaitMachines',
    'UnpausePool',
    'AwaitNodes',
  ]);
  expect(await stuck.getPool()).toEqual(before);
  expect(await cluster.exists(pool.missing.name)).toBe(false);
});

test('pauses the pool, serves new machines, and unpauses after the missing machine has joined', async () => {
  const pool = await stuck.createStuckPool();
  const { name } = pool.missing;
  const seen: unknown[] = [];
  const look = async () => {
    const { spec, status, metadata } = await stuck.getPool();
    seen.push([spec.paused, metadata.annotations?.[MARKER], status?.configuration?.name]);
  };
  const operator = reactTo([
    leaveDegraded(pool),
    [/^paused pool master/, look],
    [/^waiting for 1 machine to join/, () => look().then(() => stuck.joinMaster(name, 'Done'))],
  ]);

  const report = await restore(api, toOptions(pool, { onProgress: operator.onProgress }));

  await operator.finish();
  await look();
  expect(report).toMatchObject({ ok: true, problem: null, pausedPools: [] });
  expect(seen).toEqual([
    [true, name, undefined],
    [true, name, name],
    [false, undefined, name],
  ]);
  expect(operator.texts.filter((text) => !text.startsWith('waiting'))).toEqual([
    'paused pool master',
    `created ${name}`,
    'set the status of pool master; new machines can get their config',
    'all machines of pool master have joined',
    'unpaused pool master',
    `no node that names ${name} is Degraded`,
  ]);
  // Nothing but the daemons has changed the nodes.
  const writers = await cluster.auditLog.events(
    ({ objectRef, verb, userAgent }) =>
      objectRef?.resource === 'nodes' && verb !== 'list' && userAgent?.startsWith('machineconfig-guard/') === true,
  );
  expect(writers).toEqual([]);
});

test.each([
  ['paused', /^paused pool/],
  ['created', /^created/],
  ['status set', /^set the status/],
  ['waiting for machines', /^waiting for 1 machine/],
])('interrupted after "%s", says that the pool stays paused, and a second run continues', async (_name, step) => {
  const pool = await stuck.createStuckPool();
  const { name } = pool.missing;
  const stop = new AbortController();
  const first = reactTo([[step, async () => stop.abort()], leaveDegraded(pool)]);

  const interrupted = await restore(api, toOptions(pool, { onProgress: first.onProgress, signal: stop.signal }));

  await first.finish();
  expect(interrupted).toMatchObject({
    ok: false,
    problem: 'interrupted',
    pausedPools: [{ name: 'master' }],
  });
  expect(first.texts.at(-1)).toContain('pool master stays paused for this restore');
  expect((await stuck.getPool()).spec.paused).toBe(true);
  const dryRun = reactTo([]);
  await restore(api, toOptions(pool, { isConfirmed: false, onProgress: dryRun.onProgress }));
  expect(dryRun.texts).toEqual([expect.stringContaining('pool master stays paused')]);
  expect(await checkPools()).toEqual([expect.stringContaining(': oc patch machineconfigpool master ')]);

  const second = reactTo([leaveDegraded(pool), [/^waiting for 1 machine/, () => stuck.joinMaster(name, 'Done')]]);
  expect(await restore(api, toOptions(pool, { onProgress: second.onProgress }))).toMatchObject({
    ok: true,
    configs: [{ outcome: 'restored' }],
    pausedPools: [],
  });
  await second.finish();
  await expectRestoredPool(name);
});

test('keeps a pool paused that a person has paused', async () => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  await cluster.admin.patch(`${PATHS.pools}/master`, { spec: { paused: true } });
  const daemons = reactTo([leaveDegraded(pool)]);

  const report = await restore(api, toOptions(pool, { onProgress: daemons.onProgress }));

  await daemons.finish();
  expect(report).toMatchObject({ ok: true, pausedPools: [] });
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('pool master is paused')]);
  const { spec, status, metadata } = await stuck.getPool();
  expect([spec.paused, status?.configuration?.name]).toEqual([true, pool.missing.name]);
  expect(metadata.annotations?.[MARKER]).toBeUndefined();
});

test.each([
  ['names an existing config', async ({ rendered }: StuckPool) => ({ configuration: { name: rendered } })],
  ['is not needed because a machine is updated', async () => ({ updatedMachineCount: 1 })],
])('keeps the status of a pool whose status %s', async (_name, toStatus) => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  await stuck.setPoolStatus(await toStatus(pool));
  const { status } = await stuck.getPool();
  const daemons = reactTo([leaveDegraded(pool)]);

  expect(await restore(api, toOptions(pool, { onProgress: daemons.onProgress }))).toMatchObject({
    ok: true,
  });

  await daemons.finish();
  expect((await stuck.getPool()).status).toEqual(status);
});

test('serves new machines and unpauses the pool while its nodes stay Degraded, and reports them', async () => {
  const pool = await stuck.createStuckPool({ masters: 2 });
  const { name } = pool.missing;
  const machines = reactTo([[/^waiting for 1 machine/, () => stuck.joinMaster(name, 'Unreconcilable')]]);

  const options = toOptions(pool, { timeoutMs: 3_000, onProgress: machines.onProgress });
  const report = await restore(api, options);

  await machines.finish();
  await expectRestoredPool(name);
  expect(report).toMatchObject({ ok: false, configs: [{ outcome: 'restored' }], pausedPools: [] });
  expect(report.problem).toMatch(
    /^still waiting until control-\S+, control-\S+ and control-\S+ leave Degraded \("missing MachineConfig"\)$/,
  );
  expect(await restore(api, options)).toMatchObject({ ok: true, configs: [{ outcome: 'exists' }] });
});

/** Like the policy on pool selectors of machine-config-operator 4.22 (manifests/machineconfigcontroller). */
async function createPolicy(message: string): Promise<() => Promise<void>> {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic';
  const name = 'pool-selector';
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = {
    apiGroups: [MCO],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['machineconfigpools'],
  };
  const validations = [{ expression: 'object.spec.paused != true', message }];
  const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules: [rule] }, validations };
  await cluster.admin.create(`${path}ies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec,
  });
  await cluster.admin.create(`${path}ybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  return async () => {
    for (const suffix of ['ybindings', 'ies']) await cluster.admin.delete(`${path}${suffix}/${name}`);
  };
}

test('rejects a restore if a policy denies the pause, with the message of the policy', async () => {
  const pool = await stuck.createStuckPool();
  const removePolicy = await createPolicy('pools must select role worker');
  const plan = () => restore(api, toOptions(pool, { isConfirmed: false }));
  try {
    await expect.poll(async () => (await plan()).configs[0]?.rejection?.code, { interval: 500 }).toBe('WriteDenied');
    const report = await plan();
    expect(report).toMatchObject({ ok: false, configs: [{ outcome: 'rejected', steps: [] }] });
    expect(report.configs[0]?.rejection?.reason).toMatch(
      /^the API server denies to pause pool master: .*ValidatingAdmissionPolicy 'pool-selector'.*: pools must select/,
    );
  } finally {
    await removePolicy();
    await expect.poll(async () => (await plan()).ok, { interval: 500 }).toBe(true);
  }
});

test('sets the status of a pool while a node of another pool stays Degraded', async () => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  const worker = createConfigOnDisk('worker');
  await stuck.createPool({ name: 'worker', spec: await cluster.config() });
  const node = await cluster.node({
    role: 'worker',
    currentConfig: worker.name,
    desiredConfig: worker.name,
  });
  await stuck.setNodeState(node, 'Degraded');
  const daemons = reactTo([
    [/^waiting until control/, () => Promise.all(pool.masters.map((master) => stuck.setNodeState(master, 'Done')))],
  ]);
  const configs = [worker.config, pool.missing.config];

  const report = await restore(api, toOptions(pool, { configs, timeoutMs: 4_000, onProgress: daemons.onProgress }));

  await daemons.finish();
  expect(report.problem).toMatch(new RegExp(`^still waiting until ${node} leaves Degraded`));
  expect(report.pausedPools).toEqual([]);
  expect(report.configs.map(({ outcome }) => outcome)).toEqual(['restored', 'restored']);
  const { spec, status } = await stuck.getPool();
  expect([spec.paused, status?.configuration?.name]).toEqual([false, pool.missing.name]);
  expect(new Set(daemons.texts).size).toBe(daemons.texts.length);
});

test('stops at the timeout, and names the pending certificate request', async () => {
  const pool = await stuck.createStuckPool();
  const { texts, onProgress } = reactTo([]);
  await requestCertificate(cluster, 'control0');
  const { problem, advice, configs } = await restore(api, toOptions(pool, { timeoutMs: 500, onProgress }));
  expect(configs[0]?.outcome).toBe('incomplete');
  expect(texts.at(-1)).toContain('pool master stays paused');
  expect(problem).toBe(
    'timed out waiting for 1 machine to join pool master; certificate requests of control0 are pending',
  );
  const formatter = new CommandFormatter('machineconfig-guard', {});
  expect(advice.map((item) => formatter.toClause(item))).toEqual([
    'check their requestors, then approve them: oc adm certificate approve csr-8vnps',
  ]);
});

/** Expects that the pool is not paused, and that its status names the config. */
async function expectRestoredPool(config: string) {
  const { spec, status, metadata } = await stuck.getPool();
  const found = [spec.paused, status?.configuration?.name, metadata.annotations?.[MARKER]];
  expect(found).toEqual([false, config, undefined]);
}

/** The client with another `json`. */
function replaceJson(json: KubeApi['json']): KubeApi {
  return new Proxy(api, {
    get: (target, key) => {
      if (key === 'json') return json;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A client whose writes fail the first time: before the API server gets them, or after it has answered. */
function failFirstWrites(failure: Error, isResponseLost: boolean): KubeApi {
  const failed = new Set<string>();
  const json = async (request: ApiRequest): Promise<unknown> => {
    const { method = 'GET', path, body } = request;
    const { spec } = (body ?? {}) as { spec?: { paused?: unknown } };
    const key = `${method} ${path} ${String(spec?.paused)}`;
    const mustFail = method !== 'GET' && !path.includes('dryRun') && !failed.has(key);
    if (!mustFail) return await api.json(request);
    failed.add(key);
    if (isResponseLost) await api.json(request);
    throw failure;
  };
  return replaceJson(json);
}

test.each([
  ['conflicts', new ApiError(409, 'Conflict', 'the object has been modified'), false],
  ['is not sent because the API server is unreachable', new ApiUnreachable('connection refused'), false],
  ['is answered, but the response is lost', new ApiUnreachable('connection reset'), true],
])('continues if each write %s at first', async (_condition, failure, isResponseLost) => {
  const pool = await stuck.createStuckPool();
  const { name } = pool.missing;
  const operator = reactTo([leaveDegraded(pool), [/^waiting for 1 machine/, () => stuck.joinMaster(name, 'Done')]]);
  const options = toOptions(pool, { onProgress: operator.onProgress });
  expect(await restore(failFirstWrites(failure, isResponseLost), options)).toMatchObject({
    ok: true,
    configs: [{ outcome: 'restored' }],
    pausedPools: [],
  });
  await operator.finish();
  expect(operator.texts.filter((text) => text.endsWith('; retrying'))).toHaveLength(4);
  await expectRestoredPool(name);
});

test('keeps a pool paused that a person pauses at the same moment', async () => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  const daemons = reactTo([leaveDegraded(pool)]);
  const raced = replaceJson(async (request) => {
    const isPause = request.method === 'PATCH' && request.path === `${PATHS.pools}/master`;
    if (isPause) await cluster.admin.patch(request.path, { spec: { paused: true } });
    return await api.json(request);
  });
  expect(await restore(raced, toOptions(pool, { onProgress: daemons.onProgress }))).toMatchObject({
    ok: true,
  });
  await daemons.finish();
  const { spec, metadata } = await stuck.getPool();
  expect([spec.paused, metadata.annotations?.[MARKER]]).toEqual([true, undefined]);
});

test('keeps the status that the operator sets at the same moment', async () => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  const daemons = reactTo([
    [/^waiting until/, () => Promise.all(pool.masters.map((master) => stuck.setNodeState(master, 'Done')))],
  ]);
  const raced = replaceJson(async (request) => {
    const isStatus = request.method === 'PATCH' && request.path === `${PATHS.pools}/master/status`;
    if (isStatus) await stuck.setPoolStatus({ configuration: { name: pool.rendered } });
    return await api.json(request);
  });
  expect(await restore(raced, toOptions(pool, { onProgress: daemons.onProgress }))).toMatchObject({
    ok: true,
    pausedPools: [],
  });
  await daemons.finish();
  expect((await stuck.getPool()).status?.configuration?.name).toBe(pool.rendered);
});

test('continues if another restore creates the config after the plan', async () => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  const daemons = reactTo([
    [/^waiting until/, () => Promise.all(pool.masters.map((master) => stuck.setNodeState(master, 'Done')))],
  ]);
  let isCreated = false;
  const raced = replaceJson(async (request) => {
    const isCreation = request.method === 'POST' && request.path.startsWith(PATHS.configs);
    if (isCreation && !isCreated) {
      isCreated = true;
      await api.json({ ...request, path: PATHS.configs });
    }
    return await api.json(request);
  });
  expect(await restore(raced, toOptions(pool, { onProgress: daemons.onProgress }))).toMatchObject({
    ok: true,
    configs: [{ outcome: 'restored' }],
    pausedPools: [],
  });
  await daemons.finish();
});

test('waits for missing machines if the API server answers the question for their number late', async () => {
  const pool = await stuck.createStuckPool();
  let isAsked = false;
  const busy = replaceJson(async (request) => {
    const isFirst = request.path.includes('cluster-config-v1') && !isAsked;
    isAsked ||= isFirst;
    if (isFirst) throw new ApiUnreachable('connection refused');
    return await api.json(request);
  });
  const report = await restore(busy, toOptions(pool, { isConfirmed: false }));
  expect(report.configs[0]?.steps.map(({ action }) => action)).toContain('AwaitMachines');
});

test('warns if it may not read the number of machines', async () => {
  const pool = await stuck.createStuckPool();
  const denied = replaceJson(async (request) => {
    if (request.path.includes('cluster-config-v1')) throw new ApiError(403, 'Forbidden', 'no');
    return await api.json(request);
  });
  const report = await restore(denied, toOptions(pool, { isConfirmed: false }));
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('--control-plane-replicas')]);
});

test('reports a missing right before the first write', async () => {
  const pool = await stuck.createStuckPool();
  const forbidden = new ApiError(403, 'Forbidden', 'no');
  const denied = replaceJson(async (request) => {
    if (request.path.includes('/status')) throw forbidden;
    return await api.json(request);
  });
  await expect(restore(denied, toOptions(pool))).rejects.toMatchObject({ cause: forbidden });
  expect((await stuck.getPool()).spec.paused).toBe(false);
  expect(await cluster.exists(pool.missing.name)).toBe(false);
});
