import { beforeEach, expect, test, vi } from 'vitest';
import { type VerifyReport, verifyProtection } from '../../../src/cli/protection/verify-protection.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/kube/api-paths.ts';
import type { Fault } from '../../support/faults.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { annotate, createConfig, createNode, createPool, GONE, NEW, OLD } from '../inspected-cluster.ts';

const OVERRIDDEN = { annotations: { [ALLOW_DELETION_ANNOTATION]: '' } };
const TERMINATING = { deletionTimestamp: '2026-11-23T12:00:00Z' };

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startTestCluster();
  for (const name of [OLD, NEW]) createConfig(cluster, name);
});

async function verify(): Promise<VerifyReport> {
  return await verifyProtection(cluster.connect());
}

/** Answers each deletion of a config in the place of the API server. */
function answerDeletion(name: string, fault: Fault): void {
  cluster.faults.intercept(({ method, path }) => (method === 'DELETE' && path.endsWith(name) ? fault : 'pass'));
}

function fail(status: number, message = 'the reason'): Fault {
  return { status, body: { kind: 'Status', message } };
}

test('sends only dry runs, and tests first with a missing and an unused config', async () => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const { resourceVersion } = cluster;
  const api = cluster.connect();
  const send = vi.spyOn(api, 'json');
  await verifyProtection(api);
  const writes = send.mock.calls.map(([request]) => request).filter(({ method = 'GET' }) => method !== 'GET');
  const toDryRun = (name: string) => {
    const preconditions = { uid: cluster.get('machineconfigs', name)?.metadata.uid };
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'], preconditions };
    return { method: 'DELETE', path: `${MACHINE_CONFIGS_PATH}/${name}?dryRun=All`, body };
  };
  const proof = { method: 'DELETE', path: `${MACHINE_CONFIGS_PATH}/machineconfig-guard-dry-run?dryRun=Invalid` };
  expect(writes).toMatchObject([proof, toDryRun(OLD), proof, toDryRun(NEW)]);
  expect(cluster.resourceVersion).toBe(resourceVersion);
});

test.each([404, 422])(
  'exits with 3 if the API server answers %i for another reason than the dry run',
  async (status) => {
    answerDeletion('machineconfig-guard-dry-run', fail(status));
    const message = expect.stringContaining(`answered ${status} the reason instead`) as string;
    await expect(verify()).rejects.toMatchObject({ name: 'CliError', exitCode: 3, message });
  },
);

const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE';

test.each([
  [403, DENIAL],
  [404, DENIAL],
  [500, 'failed calling webhook "guard.machineconfig-guard.io": EOF'],
  [422, "ValidatingAdmissionPolicy 'x' denied request: failed to configure policy"],
])('reports the answer %i of a webhook or a policy', async (status, message) => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  answerDeletion(NEW, fail(status, message));
  expect(await verify()).toMatchObject({ answer: { status, message } });
});

test.each<Fault>([
  fail(401),
  fail(403, 'User "x" cannot delete resource "machineconfigs"'),
  fail(429),
  fail(500, 'etcdserver: request timed out'),
  'reset',
])('throws a ClusterAccessError if no webhook was called: %j', async (fault) => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  answerDeletion(NEW, fault);
  const access = { verb: 'delete', resource: 'machineconfigs' };
  await expect(verify()).rejects.toMatchObject({ name: 'ClusterAccessError', access });
});

test('if the node moves to another config meanwhile, looks again before it says EXPOSED', async () => {
  createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: OLD });
  let moves = 0;
  cluster.faults.intercept(({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(OLD) || moves > 0) return 'pass';
    moves += 1;
    annotate(cluster, 'worker-0', { currentConfig: NEW, desiredConfig: NEW });
    return 'pass';
  });
  answerDeletion(NEW, fail(403, DENIAL));
  expect(await verify()).toMatchObject({ state: 'PROTECTED', dryRun: { config: NEW } });
  expect(moves).toBe(1);
  cluster.faults.clear();
  cluster.faults.intercept(({ method, path }) => {
    // It moves before each answer.
    const [current, next] = path.endsWith(NEW) ? [NEW, OLD] : [OLD, NEW];
    if (method === 'DELETE' && path.endsWith(current))
      annotate(cluster, 'worker-0', { currentConfig: next, desiredConfig: next });
    return 'pass';
  });
  expect(await verify()).toMatchObject({
    state: 'UNKNOWN',
    explanation: expect.stringMatching(/ was released or deleted/),
  });
});

test('says BLOCKED also if no config is in use', async () => {
  answerDeletion(OLD, fail(403, DENIAL.replace('MCG_IN_USE', 'MCG_UNVERIFIED')));
  answerDeletion(NEW, fail(403, DENIAL.replace('MCG_IN_USE', 'MCG_UNVERIFIED')));
  expect(await verify()).toMatchObject({ state: 'BLOCKED', dryRun: null });
});

test('prefers the config of a node, then of a pool, then of a build', async () => {
  cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: OLD } } });
  expect((await verify()).dryRun).toMatchObject({ config: OLD, kind: 'MachineOSBuild' });
  createPool(cluster, 'worker', { status: NEW });
  expect((await verify()).dryRun).toMatchObject({ config: NEW, kind: 'MachineConfigPool' });
  createNode(cluster, 'worker-0', { desiredConfig: OLD });
  const dryRun = { config: OLD, kind: 'Node', name: 'worker-0', field: 'desiredConfig' };
  expect((await verify()).dryRun).toEqual(dryRun);
});

test.each([
  ['with an empty allow-deletion annotation', OVERRIDDEN],
  ['that is terminating', TERMINATING],
])('tries no config %s', async (_title, metadata) => {
  createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: NEW });
  cluster.patch('machineconfigs', OLD, { metadata });
  expect(await verify()).toMatchObject({ dryRun: { config: NEW }, unused: null });
});

test.each([
  ['the unused config', OLD, 404, { unused: null, answer: { status: 200 }, state: 'EXPOSED' }],
  [
    'the config in use',
    NEW,
    409,
    { dryRun: null, state: 'UNKNOWN', explanation: `${NEW} was released or deleted during the dry run` },
  ],
])('reports no dry run if %s is gone', async (_which, name, status, report) => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  answerDeletion(name, fail(status));
  expect(await verify()).toMatchObject(report);
});

test.each<[string, string, object | undefined]>([
  ['a source config', '99-worker', {}],
  ['a missing config', GONE, undefined],
  ['a config with the annotation', GONE, OVERRIDDEN],
  ['a terminating config', GONE, TERMINATING],
])('if a node names only %s, tries no config in use and says why', async (_condition, name, metadata) => {
  if (metadata !== undefined) cluster.create('machineconfigs', { metadata: { name, ...metadata } });
  createNode(cluster, 'worker-0', { currentConfig: name });
  const explanation = expect.stringMatching(/^no rendered MachineConfig is in use, apart from those/) as string;
  expect(await verify()).toMatchObject({ protected: false, state: 'UNKNOWN', dryRun: null, explanation });
});

test('without the right to read webhooks and policies, reports what the dry run shows', async () => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  cluster.faults.intercept(({ path }) => (path.includes('admissionregistration') ? { status: 403 } : 'pass'));
  const explanation = expect.stringMatching(/^a config in use can be deleted: you may not list/) as string;
  expect(await verify()).toMatchObject({ webhooks: null, floor: null, state: 'EXPOSED', explanation });
});
