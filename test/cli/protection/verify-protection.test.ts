import { beforeEach, expect, test } from 'vitest';
import { type VerifyReport, verifyProtection } from '../../../src/cli/protection/verify-protection.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/kube/api-paths.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { createConfig, createNode, createPool, GONE, NEW, OLD } from '../inspected-cluster.ts';

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

/** Answers each deletion of a config as if another client had deleted it. */
function loseConfig(name: string): void {
  cluster.faults.intercept(({ method, path }) =>
    method === 'DELETE' && path.endsWith(name) ? { status: 404, body: { kind: 'Status', message: 'gone' } } : 'pass',
  );
}

test('sends only dry runs, and tests first with a missing and an unused config', async () => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const { resourceVersion } = cluster;
  await verify();
  const deletions = cluster.faults.requests.filter(({ method }) => method === 'DELETE');
  expect(
    deletions.map(({ path, query }) => `${path.slice(MACHINE_CONFIGS_PATH.length + 1)}?${query.toString()}`),
  ).toEqual(['machineconfig-guard-verify?dryRun=Proof', `${OLD}?dryRun=All`, `${NEW}?dryRun=All`]);
  expect(cluster.resourceVersion).toBe(resourceVersion);
});

test('prefers the config of a node, then of a pool, then of a build', async () => {
  cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: OLD } } });
  expect((await verify()).tried).toMatchObject({ config: OLD, kind: 'MachineOSBuild' });
  createPool(cluster, 'worker', { status: NEW });
  expect((await verify()).tried).toMatchObject({ config: NEW, kind: 'MachineConfigPool' });
  createNode(cluster, 'worker-0', { desiredConfig: OLD });
  const tried = { config: OLD, kind: 'Node', name: 'worker-0', field: 'desiredConfig' };
  expect((await verify()).tried).toEqual(tried);
});

test.each([
  ['with an empty allow-deletion annotation', OVERRIDDEN],
  ['that is terminating', TERMINATING],
])('tries no config %s', async (_title, metadata) => {
  createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: NEW });
  cluster.patch('machineconfigs', OLD, { metadata });
  expect(await verify()).toMatchObject({ tried: { config: NEW }, unused: null });
});

test.each([
  ['the unused config', OLD, { unused: null, answer: { status: 200 }, state: 'EXPOSED' }],
  ['the config in use', NEW, { tried: null, state: 'UNKNOWN', explanation: `${NEW} was deleted during the test` }],
])('reports no trial if %s is gone', async (_which, name, report) => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  loseConfig(name);
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
  expect(await verify()).toMatchObject({ protected: false, state: 'UNKNOWN', tried: null, explanation });
});

test('without the right to read webhooks and policies, reports what the dry run shows', async () => {
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  cluster.faults.intercept(({ path }) => (path.includes('admissionregistration') ? { status: 403 } : 'pass'));
  const explanation = expect.stringMatching(/^a config in use can be deleted: you may not list/) as string;
  expect(await verify()).toMatchObject({ webhooks: null, floor: null, state: 'EXPOSED', explanation });
});
