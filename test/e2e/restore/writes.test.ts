import { afterAll, expect, onTestFinished, test, vi } from 'vitest';

import { until } from '../control-plane/until.ts';
import { PATHS } from '../support/paths.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const MCO = 'machineconfiguration.openshift.io';
const POOL = `${PATHS.pools}/master`;
const stuck = await StuckCluster.shared();
const { cluster } = stuck;
const api = stuck.connect();

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
    'wait for 1 more machine of pool master: done',
    'unpause pool master: done',
    'wait until no node that names it is Degraded: done',
  ]);
  // Nothing but the daemons has changed the nodes.
  const writers = await cluster.auditEvents(
    ({ objectRef, verb, userAgent }) =>
      objectRef?.resource === 'nodes' && verb !== 'list' && userAgent?.startsWith('machineconfig-guard/') === true,
  );
  expect(writers).toEqual([]);
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
  const send = api.json.bind(api);
  vi.spyOn(api, 'json').mockImplementation(async (request) => {
    const isWrite = request.method !== undefined && !request.path.includes('dryRun');
    if (!isChanged && isWrite && path.test(request.path)) {
      isChanged = true;
      await change(pool);
    }
    return send(request);
  });
  onTestFinished(() => void vi.restoreAllMocks());

  const { report } = await stuck.restore(pool, { api });

  expect(isChanged).toBe(true);
  expect(report).toMatchObject(RESTORED);
  expect(await stuck.getPause()).toEqual(toExpected(pool));
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
