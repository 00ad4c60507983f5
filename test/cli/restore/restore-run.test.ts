import { expect, test, vi } from 'vitest';
import { readConfigsFromNode } from '../../../src/cli/restore/read-sources.ts';
import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import { readClusterSnapshot } from '../../../src/client/cluster-reader.ts';
import type { CliError } from '../../../src/client/exit.ts';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { fakeUntilEnd } from '../../support/until-end.ts';
import { annotate, createConfig, createNode, createPool } from '../inspected-cluster.ts';

const MASTER = createConfigOnDisk('master');
const WORKER = createConfigOnDisk('worker');

/** Pools with an empty status, whose nodes are Degraded and name a missing config. */
async function startStuckCluster(): Promise<TestCluster> {
  const cluster = await startTestCluster();
  createStuckPool(cluster, 'master', MASTER.name, ['control0', 'control1']);
  createStuckPool(cluster, 'worker', WORKER.name, ['worker0']);
  return cluster;
}

function createStuckPool(cluster: TestCluster, role: string, missing: string, nodes: readonly string[]): void {
  const { name: rendered } = createConfigOnDisk(role);
  createConfig(cluster, rendered);
  createPool(cluster, role, { spec: rendered });
  cluster.patch('machineconfigpools', role, { status: { machineCount: nodes.length, updatedMachineCount: 0 } });
  const annotations = { currentConfig: missing, desiredConfig: missing, state: 'Degraded', reason: 'missing config' };
  for (const name of nodes) createNode(cluster, name, annotations, role);
}

/** Time passes only in the pauses between two reads. */
async function runRestore(cluster: TestCluster, options: Partial<RestoreOptions>) {
  fakeUntilEnd('performance');
  const { report } = await restore(cluster.connect(), {
    configs: [MASTER.config, WORKER.config],
    isConfirmed: true,
    acceptContent: false,
    timeoutMs: 20_000,
    sleep: async (ms) => void vi.advanceTimersByTime(ms),
    ...options,
  });
  return report;
}

test('waits 2 minutes for the nodes of two pools, and names those that stay Degraded', async () => {
  const cluster = await startStuckCluster();
  annotate(cluster, 'control0', { reason: '' });
  fakeUntilEnd('performance');
  const startedAt = performance.now();
  const report = await runRestore(cluster, { controlPlaneReplicas: 2, timeoutMs: 600_000 });
  const elapsedMs = performance.now() - startedAt;
  expect([elapsedMs >= 120_000, elapsedMs < 130_000]).toEqual([true, true]);
  const outcomes = report.configs.map(({ outcome }) => outcome);
  expect([report.ok, outcomes, report.pausedPools]).toEqual([false, ['restored', 'restored'], []]);
  expect(report.problem).toBe(
    'timed out waiting for control0 and control1 to leave Degraded ("missing config"); ' +
      'for worker0 to leave Degraded ("missing config")',
  );
  expect(report.advice.map(({ command }) => command?.words.slice(0, 2))).toEqual([['oc', 'logs']]);
  const { advice } = await runRestore(cluster, { controlPlaneReplicas: 2, timeoutMs: 15_000 });
  expect(advice.map(({ text }) => text)).toEqual([expect.stringMatching(/^run the same command again to wait longer/)]);
  expect(advice).toEqual(report.advice);
});

test('rejects a config that a webhook denies, and restores the other one', async () => {
  const cluster = await startStuckCluster();
  const denial = 'admission webhook "a.example.com" denied the request: no';
  let creations = 0;
  cluster.faults.intercept(({ method }) => {
    if (method === 'POST') creations += 1;
    // The dry run for the first config.
    return method === 'POST' && creations === 1 ? { status: 403, body: { kind: 'Status', message: denial } } : 'pass';
  });
  annotate(cluster, 'worker0', { state: 'Done' });
  const report = await runRestore(cluster, {});
  const rejection = {
    code: 'WriteDenied',
    reason: expect.stringContaining(`owned by pool master: ${denial}`) as string,
  };
  expect(report).toMatchObject({ ok: false, written: true, problem: null, pausedPools: [] });
  expect(report.configs).toMatchObject([
    { outcome: 'rejected', rejection, steps: [], warnings: [] },
    { outcome: 'restored', rejection: null },
  ]);
});

test('says that a node names another missing config, and which requests are pending at the end', async () => {
  const cluster = await startStuckCluster();
  const other = createConfigOnDisk('worker').name;
  annotate(cluster, 'worker0', { desiredConfig: other });
  cluster.faults.intercept(({ method, query }) => {
    if (method === 'POST' && !query.has('dryRun')) {
      const spec = { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker1' };
      cluster.create('certificatesigningrequests', { metadata: { name: 'csr-a' }, spec });
    }
    return 'pass';
  });
  const report = await runRestore(cluster, { configs: [WORKER.config], controlPlaneReplicas: 2 });
  expect(report.problem).toContain(`("missing config"); ${other} is missing, too`);
  const command = { words: ['machineconfig-guard', 'check'] };
  expect(report.advice).toMatchObject([{ text: 'another config is missing, too', command }]);
  expect(report.pendingCertificateRequests).toMatchObject([{ name: 'csr-a' }]);
});

test('compares the copy with the config of the pool, and names the source that sets a difference', async () => {
  const cluster = await startStuckCluster();
  const own = cluster.get('machineconfigpools', 'worker')?.spec as { configuration: { name: string } };
  const { config, osImageURL } = WORKER.spec;
  cluster.patch('machineconfigs', own.configuration.name, { spec: { ...WORKER.spec, kernelType: 'realtime' } });
  cluster.create('machineconfigs', {
    metadata: { name: '99-rt' },
    spec: { kernelType: 'realtime', config, osImageURL },
  });
  cluster.patch('machineconfigpools', 'worker', {
    spec: { configuration: { ...own.configuration, source: [{ name: '99-rt' }] } },
  });
  const plan = { configs: [WORKER.config], isConfirmed: false, controlPlaneReplicas: 2 };
  const difference = { kind: 'setting', name: 'kernelType', copy: 'default', cluster: 'realtime', setBy: ['99-rt'] };
  expect((await runRestore(cluster, plan)).configs).toMatchObject([{ differences: [difference] }]);
  cluster.faults.intercept(({ method, path }) =>
    method === 'GET' && path.includes('/rendered-') ? { status: 403 } : 'pass',
  );
  expect((await runRestore(cluster, plan)).configs).toMatchObject([{ comparedWith: null, differences: [] }]);
});

test('restores the config of a disk that no annotation names, and then lets the nodes name it', async () => {
  const cluster = await startStuckCluster();
  const reason = 'unexpected on-disk state validating against x: content mismatch for file "/etc/id"';
  const { name: existing } = createConfigOnDisk('worker');
  createConfig(cluster, existing);
  annotate(cluster, 'worker0', { currentConfig: existing, desiredConfig: existing, reason });
  const options = { configs: [WORKER.config], controlPlaneReplicas: 2 };
  const restored = await runRestore(cluster, options);
  expect(restored).toMatchObject({ ok: true, configs: [{ outcome: 'restored', namedBy: null }], pausedPools: [] });
  const command = ['oc', 'annotate', 'node', 'worker0', '--overwrite'];
  for (const { advice } of [restored, await runRestore(cluster, options)]) {
    expect(advice[0]?.command?.words.slice(0, 5)).toEqual(command);
    expect(advice[0]?.command?.words[5]).toContain(`currentConfig=${WORKER.name}`);
  }
  annotate(cluster, 'worker0', { currentConfig: WORKER.name });
  expect((await runRestore(cluster, options)).advice).toMatchObject([{ command: null }]);
  const other = await runRestore(cluster, { ...options, configs: [createConfigOnDisk('infra').config] });
  expect(other.configs).toMatchObject([{ rejection: { code: 'NotReferenced' } }]);
});

test.each([
  ['currentconfig', WORKER.name, 'mcs-machine-config-content.json'],
  ['mcs-machine-config-content.json', undefined, 'currentconfig'],
])('if the API server does not trust the kubelet, prints the way by SSH to %s first', async (first, status, second) => {
  const cluster = await startStuckCluster();
  cluster.patch('machineconfigpools', 'worker', { status: { configuration: { name: status } } });
  const type = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };
  const items = [{ ...type, metadata: { name: 'mcd' } }];
  const message =
    'error dialing backend: tls: failed to verify certificate: x509: certificate signed by unknown authority';
  const body = { kind: 'Status', apiVersion: 'v1', message, code: 500 };
  const list = { ...type, kind: 'PartialObjectMetadataList', metadata: { resourceVersion: '1' }, items };
  cluster.faults.intercept(({ path }) => {
    if (path.endsWith('/exec')) return { status: 500, body };
    return path.endsWith('/pods') ? { status: 200, body: list } : 'pass';
  });
  const api = cluster.connect();
  const { signal } = new AbortController();
  const snapshot = await readClusterSnapshot(api, undefined, signal);
  const reading = readConfigsFromNode('worker0', { api, snapshot, name: undefined, isConfirmed: !status, signal });
  const error = (await reading.catch((failure: unknown) => failure)) as CliError;
  const text = error.describe(new CommandFormatter('machineconfig-guard', {}));
  expect(text).toContain('x509: certificate signed by unknown authority');
  const files = [first, second].map((file) => String.raw`/etc/\S*${file}`);
  const restore = String.raw`\| machineconfig-guard restore ${WORKER.name} --from -${status ? '' : ' --confirm'}`;
  const [read, readSecond] = files.map((file) => `ssh core@worker0 sudo cat ${file} ${restore}`);
  const pattern = `; read it with SSH: ${read}; only if that file is missing or has another config, .*: ${readSecond}$`;
  expect(text).toMatch(new RegExp(pattern));
});

test('unpauses a pool while another pool waits for a machine', async () => {
  const cluster = await startStuckCluster();
  for (const [name, username] of [
    ['csr-a', 'system:node:control2'],
    ['csr-b', 'other'],
  ] as const) {
    const spec = { signerName: 'kubernetes.io/kubelet-serving', username };
    cluster.create('certificatesigningrequests', { metadata: { name }, spec });
  }
  const report = await runRestore(cluster, { controlPlaneReplicas: 3 });
  expect(report.configs.map(({ outcome }) => outcome)).toEqual(['incomplete', 'restored']);
  expect(report.problem).toBe(
    'timed out waiting for 1 machine to join pool master; ' +
      'certificate requests of control2 and an unknown node are pending',
  );
  const words = ['oc', 'adm', 'certificate', 'approve', 'csr-a', 'csr-b'];
  expect(report.advice).toMatchObject([{ text: 'check their requestors, then approve these', command: { words } }]);
  expect(report.pausedPools.map(({ name }) => name)).toEqual(['master']);
  expect(cluster.get('machineconfigpools', 'worker')?.spec).toMatchObject({ paused: false });
});

test('creates a config strictly, and without an owner if its pool is being deleted', async () => {
  const cluster = await startStuckCluster();
  const deletion = { deletionTimestamp: '2026-11-20T11:59:00Z', finalizers: ['a/b'] };
  cluster.patch('machineconfigpools', 'worker', { metadata: deletion });
  await runRestore(cluster, { controlPlaneReplicas: 2 });
  const created = cluster.faults.requests.filter(({ method, query }) => method === 'POST' && !query.has('dryRun'));
  expect(created.map(({ query }) => query.get('fieldValidation'))).toEqual(['Strict', 'Strict']);
  const owner = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    name: 'master',
    uid: cluster.require('machineconfigpools', 'master', '').metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  // Of the annotations in the copy only these, and no labels.
  const annotations = {
    'machineconfiguration.openshift.io/generated-by-controller-version': '33286190af0d4d340af5c61e603d185780e74b39',
    'machineconfiguration.openshift.io/release-image-version': '4.20.0',
  };
  const any = expect.anything() as unknown;
  const ofServer = { uid: any, resourceVersion: any, creationTimestamp: any, generation: 1 };
  const toObject = ({ name, spec }: typeof MASTER, owners: object) => {
    const metadata = { name, annotations, ...owners, ...ofServer };
    return { apiVersion: owner.apiVersion, kind: 'MachineConfig', metadata, spec };
  };
  expect([MASTER, WORKER].map(({ name }) => cluster.get('machineconfigs', name))).toEqual([
    toObject(MASTER, { ownerReferences: [owner] }),
    toObject(WORKER, {}),
  ]);
});

test('stops before the status if the config cannot be created', async () => {
  const cluster = await startStuckCluster();
  cluster.faults.intercept(({ method, query }) => {
    if (method === 'PATCH' && !query.has('dryRun') && cluster.get('machineconfigs', MASTER.name) === undefined) {
      const metadata = { name: MASTER.name, finalizers: ['a/b'], deletionTimestamp: '2026-11-20T11:59:00Z' };
      cluster.create('machineconfigs', { metadata, spec: {} });
    }
    return 'pass';
  });
  const report = await runRestore(cluster, { controlPlaneReplicas: 2, configs: [MASTER.config] });
  expect(report.problem).toBe(`timed out waiting until the finalizers of ${MASTER.name} are removed`);
  expect(cluster.get('machineconfigpools', 'master')?.status).toHaveProperty('configuration', {});
});

test.each([
  [403, false],
  [500, true],
])('says whether a write that ended with %i can have succeeded: %s', async (status, written) => {
  const cluster = await startStuckCluster();
  cluster.faults.intercept(({ method, query }) =>
    method !== 'GET' && !query.has('dryRun') ? { status, body: { kind: 'Status', message: 'a fault' } } : 'pass',
  );
  const report = await runRestore(cluster, { configs: [MASTER.config], controlPlaneReplicas: 2 });
  expect([report.ok, report.written]).toEqual([false, written]);
  // The response to the pause can be lost.
  expect(report.pausedPools).toHaveLength(written ? 1 : 0);
});

test.each([
  ['set the status', undefined, 2],
  ['wait for machines', MASTER.name, 3],
  ['unpause the pool', MASTER.name, 2],
])('does not %s if somebody has deleted the config since it was created', async (_step, spec, machines) => {
  const cluster = await startStuckCluster();
  if (spec !== undefined) cluster.patch('machineconfigpools', 'master', { spec: { configuration: { name: spec } } });
  // The next request of the restore comes after the deletion.
  cluster.faults.intercept(({ method }) => {
    if (method === 'GET' && cluster.get('machineconfigs', MASTER.name) !== undefined)
      void cluster.delete('machineconfigs', MASTER.name);
    return 'pass';
  });
  const report = await runRestore(cluster, { configs: [MASTER.config], controlPlaneReplicas: machines });
  expect(report.problem).toBe(`somebody has deleted ${MASTER.name} since it was created`);
  expect(report.pausedPools.map(({ name }) => name)).toEqual(['master']);
  expect(cluster.get('machineconfigpools', 'master')?.status).toHaveProperty('configuration', {});
});

test('keeps the annotation of a config whose OS image a MachineConfig replaces', async () => {
  const cluster = await startStuckCluster();
  const annotations = { 'machineconfiguration.openshift.io/os-image-url-overridden': 'true' };
  await runRestore(cluster, { configs: [{ ...MASTER.config, annotations }], controlPlaneReplicas: 2 });
  expect(cluster.get('machineconfigs', MASTER.name)?.metadata.annotations).toEqual(annotations);
});
