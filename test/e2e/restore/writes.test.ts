import { afterAll, expect, test } from 'vitest';

import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import type { ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';
import { until } from '../control-plane/until.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { PATHS } from '../support/paths.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const MCO = 'machineconfiguration.openshift.io';
const POOL = `${PATHS.pools}/master`;
const stuck = await StuckCluster.shared();
const { cluster } = stuck;
const api = stuck.connect();
const formatter = new CommandFormatter('machineconfig-guard', {});

afterAll(() => api.close());

const RESTORED = { ok: true, problem: null, configs: [{ outcome: 'restored' }], pausedPools: [] };

test('writes the config as the operator does, and the garbage collector keeps it', async () => {
  const status = { configuration: { name: 'rendered-master-other' }, updatedMachineCount: 1 };
  const pool = await stuck.createStuckPool({ masters: 3, status });
  const { name, spec } = pool.missing;

  const { report } = await stuck.restore(pool, { api });

  expect(report).toMatchObject(RESTORED);
  const { uid } = (await stuck.getPool())?.metadata ?? {};
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
  const orphan = await cluster.config({ owner: { ...owner, metadata: { name: 'master', uid: 'dead' } } });
  const awaitDeletion = (config: string) =>
    until(`the deletion of ${config}`, async () => !(await cluster.exists(config)));
  await awaitDeletion(orphan);
  expect(await cluster.exists(name)).toBe(true);
  await cluster.admin.delete(POOL, { propagationPolicy: 'Background' });
  await awaitDeletion(name);
});

const STEPS = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'];

test('plans every step without a write, then pauses the pool, serves new machines, and unpauses it', async () => {
  const pool = await stuck.createStuckPool();
  const { name } = pool.missing;
  const before = await stuck.getPool();
  const { report: plan } = await stuck.restore(pool, { api, isConfirmed: false });
  expect(plan).toMatchObject({ ok: true, confirmed: false, configs: [{ outcome: 'planned', pool: 'master' }] });
  expect(plan.configs[0]?.steps.map(({ action }) => action)).toEqual(STEPS);
  expect([await stuck.getPool(), await cluster.exists(name)]).toEqual([before, false]);
  const seen: unknown[] = [];
  const look = async () => seen.push(await stuck.getPause());
  const [pattern, join] = stuck.join(pool);

  const { report, texts } = await stuck.restore(pool, {
    api,
    reactions: [
      [/^pause pool master: done/, look],
      [pattern, () => look().then(join)],
    ],
  });

  await look();
  expect(report).toMatchObject(RESTORED);
  expect(seen).toEqual([
    [true, name, undefined],
    [true, name, name],
    [false, undefined, name],
  ]);
  expect(texts.filter((text) => !text.startsWith('waiting'))).toEqual([
    'pause pool master: done',
    `create ${name}, owned by pool master: done`,
    'set status.configuration.name of pool master, from which new machines get their config: done',
    'wait until 1 more machine joins pool master: done',
    'unpause pool master: done',
    'wait until 2 nodes that name it leave Degraded: done',
  ]);
  // Nothing but the daemons has changed the nodes.
  const writers = await cluster.auditEvents(
    ({ objectRef, verb, userAgent }) =>
      objectRef?.resource === 'nodes' && verb !== 'list' && userAgent?.startsWith('machineconfig-guard/') === true,
  );
  expect(writers).toEqual([]);
});

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

function isWrite({ method = 'GET', path }: ApiRequest): boolean {
  return method !== 'GET' && !path.includes('dryRun');
}

/** The clauses of `check` about a paused pool. */
async function checkPools(): Promise<readonly string[]> {
  const { repairs } = await checkCluster(api);
  return repairs.map((repair) => formatter.toClause(repair)).filter((clause) => clause.includes('paused'));
}

const UNPAUSE = expect.stringMatching(/: oc patch machineconfigpool master /) as string;
const CONTINUE = expect.stringMatching(/: machineconfig-guard restore \S+ --confirm$/) as string;

test.each([
  ['a missing config is the first problem', /^pause pool/, [UNPAUSE]],
  ['the config was created', /^create rendered/, [CONTINUE, UNPAUSE]],
  ['the status was set', /^set status/, [CONTINUE, UNPAUSE]],
  ['it waits for a machine', /^waiting for 1 machine/, [CONTINUE, UNPAUSE]],
  ['the response to the pause is lost', 1, [UNPAUSE]],
  ['the response to the end of the pause is lost', 4, undefined],
])('interrupted when %s, says that the pool stays paused, and a second run continues', async (_name, when, checks) => {
  const pool = await stuck.createStuckPool();
  const { name } = pool.missing;
  const stop = new AbortController();
  let writes = 0;
  const client = replaceJson(async (request) => {
    const answer = await api.json(request);
    if (isWrite(request)) writes += 1;
    if (writes === when) stop.abort();
    stop.signal.throwIfAborted();
    return answer;
  });
  const pattern = typeof when === 'number' ? /^$/ : when;

  const first = await stuck.restore(pool, {
    api: client,
    signal: stop.signal,
    reactions: [[pattern, async () => stop.abort()], stuck.join(pool)],
  });

  expect(first.report).toMatchObject({ ok: false, problem: 'interrupted', pausedPools: [{ name: 'master' }] });
  expect(first.texts.at(-1)).toContain('pool master stays paused for this restore');
  // Without a response the restore cannot know that the pool is not paused any more.
  expect((await stuck.getPause())[0]).toBe(when !== 4);
  if (checks !== undefined) {
    const dryRun = await stuck.restore(pool, { api, isConfirmed: false });
    expect(dryRun.texts).toEqual([expect.stringContaining('pool master stays paused')]);
    expect(await checkPools()).toEqual(checks);
  }

  const second = await stuck.restore(pool, { api, reactions: [stuck.join(pool)] });

  const outcome = when === 4 ? 'exists' : 'restored';
  expect(second.report).toMatchObject({ ok: true, configs: [{ outcome }], pausedPools: [] });
  expect(await stuck.getPause()).toEqual([false, undefined, name]);
});

/** Somebody changes the cluster just before the restore sends its first write to a path. */
test.each<[string, RegExp, (pool: StuckPool) => Promise<unknown>, (pool: StuckPool) => unknown]>([
  [
    'a pool paused that a person pauses',
    /\/machineconfigpools\/master$/,
    () => cluster.admin.patch(POOL, { spec: { paused: true } }),
    ({ missing }) => [true, undefined, missing.name],
  ],
  [
    'the status that the operator sets',
    /\/status$/,
    ({ rendered }) => stuck.setPoolStatus({ configuration: { name: rendered } }),
    ({ rendered }) => [false, undefined, rendered],
  ],
  [
    'the config that another restore creates',
    /\/machineconfigs\?/,
    ({ missing }) => cluster.config({ name: missing.name }),
    ({ missing }) => [false, undefined, missing.name],
  ],
])('keeps %s at the same moment', async (_name, path, change, toExpected) => {
  const pool = await stuck.createStuckPool({ masters: 3 });
  let isChanged = false;
  const client = replaceJson(async (request) => {
    const isFirst = !isChanged && isWrite(request) && path.test(request.path);
    isChanged ||= isFirst;
    if (isFirst) await change(pool);
    return await api.json(request);
  });

  const { report } = await stuck.restore(pool, { api: client });

  expect(isChanged).toBe(true);
  expect(report).toMatchObject(RESTORED);
  expect(await stuck.getPause()).toEqual(toExpected(pool));
});

test('stops at the timeout, and names the pending certificate request', async () => {
  const pool = await stuck.createStuckPool();
  await requestCertificate(cluster, 'control0');
  const { report, texts } = await stuck.restore(pool, { api, timeoutMs: 500 });
  expect(report.configs[0]?.outcome).toBe('incomplete');
  expect(texts.at(-1)).toContain('pool master stays paused');
  expect(report.problem).toBe(
    'timed out waiting for 1 machine to join pool master; certificate requests of control0 are pending',
  );
  expect(report.advice.map((item) => formatter.toClause(item))).toEqual([
    'check their requestors, then approve them: oc adm certificate approve csr-8vnps',
  ]);
});

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic';

/** Like the policy on pool selectors of machine-config-operator 4.22 (manifests/machineconfigcontroller). */
async function createPolicy(message: string): Promise<void> {
  const meta = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'pool-selector' } };
  const rule = { apiGroups: [MCO], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['machineconfigpools'] };
  const validations = [{ expression: 'object.spec.paused != true', message }];
  const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules: [rule] }, validations };
  await cluster.admin.create(`${POLICIES}ies`, { ...meta, kind: 'ValidatingAdmissionPolicy', spec });
  const binding = { policyName: 'pool-selector', validationActions: ['Deny'] };
  const kind = 'ValidatingAdmissionPolicyBinding';
  await cluster.admin.create(`${POLICIES}ybindings`, { ...meta, kind, spec: binding });
}

test('rejects a restore if a policy denies the pause, with the message of the policy', async () => {
  const pool = await stuck.createStuckPool();
  await createPolicy('pools must select role worker');
  const plan = async () => (await stuck.restore(pool, { api, isConfirmed: false })).report;
  try {
    await expect.poll(async () => (await plan()).configs[0]?.rejection?.code, { interval: 500 }).toBe('WriteDenied');
    const report = await plan();
    expect(report).toMatchObject({ ok: false, configs: [{ outcome: 'rejected', steps: [] }] });
    expect(report.configs[0]?.rejection?.reason).toMatch(
      /^the API server denies to pause pool master: .*ValidatingAdmissionPolicy 'pool-selector'.*: pools must select/,
    );
  } finally {
    for (const path of ['ybindings', 'ies']) await cluster.admin.delete(`${POLICIES}${path}/pool-selector`);
    await expect.poll(async () => (await plan()).ok, { interval: 500 }).toBe(true);
  }
});

test.each([
  ['conflicts', new ApiError(409, 'Conflict', 'the object has been modified'), false],
  ['is not sent because the API server is unreachable', new ApiUnreachable('connection refused'), false],
  ['is answered, but the response is lost', new ApiUnreachable('connection reset'), true],
])('continues if each write %s at first', async (_condition, failure, isResponseLost) => {
  const pool = await stuck.createStuckPool();
  const failed = new Set<string>();
  const client = replaceJson(async (request) => {
    const { spec } = (request.body ?? {}) as { spec?: { paused?: unknown } };
    const key = `${request.method} ${request.path} ${String(spec?.paused)}`;
    if (!isWrite(request) || failed.has(key)) return await api.json(request);
    failed.add(key);
    if (isResponseLost) await api.json(request);
    throw failure;
  });

  const { report, texts } = await stuck.restore(pool, { api: client, reactions: [stuck.join(pool)] });

  expect(report).toMatchObject(RESTORED);
  expect(texts.filter((text) => text.endsWith('; retrying'))).toHaveLength(4);
  expect(await stuck.getPause()).toEqual([false, undefined, pool.missing.name]);
});
