import { afterAll, beforeEach, expect, test } from 'vitest';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { readObstacles } from '../../../src/cli/check/read-obstacles.ts';
import { readClusterSnapshot } from '../../../src/client/cluster-reader.ts';
import { expectStatus } from '../control-plane/kube-client.ts';
import { ensureOperatorNamespace } from '../restore/machines.ts';
import { clearStates, createState } from '../support/cluster-states.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { MCO, OPERATOR_NAMESPACE, PATHS } from '../support/objects.ts';

const DEPLOYMENTS = `/apis/apps/v1/namespaces/${OPERATOR_NAMESPACE}/deployments`;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases`;
const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const CONTROLLER = 'machine-config-controller';
const HOUR_MS = 3_600_000;

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const api = controlPlane.connectApi();

/** A roll-out of pool worker, which nothing explains. */
beforeEach(async () => {
  await clear();
  await ensureOperatorNamespace(cluster);
  await createState(installed, 'R17');
});
afterAll(async () => {
  api.close();
  await clear();
});

async function clear(): Promise<void> {
  await installed.clear();
  await clearStates(installed);
  for (const path of [DEPLOYMENTS, LEASES, BUDGETS]) expectStatus(await admin.delete(path), [200], `DELETE ${path}`);
  await admin.delete(PODS, { gracePeriodSeconds: '0' });
}

async function check() {
  const { problems, repairs } = (await checkCluster(api)).report;
  return {
    codes: problems.map(({ code, recoverable }) => code + (recoverable ? '?' : '')),
    message: problems[0]?.message,
    commands: repairs.map(({ command }) => command?.words.join(' ')),
  };
}

async function createDeployment(name: string, replicas: number, status: object): Promise<void> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name, image: 'mco' }] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  await admin.create(DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec });
  await admin.patch(`${DEPLOYMENTS}/${name}/status`, { status });
}

function toTime(msAgo: number): string {
  return new Date(Date.now() - msAgo).toISOString();
}

test('finds an operator that was scaled down, and the printed command ends it', async () => {
  await createDeployment('machine-config-operator', 0, {});

  const { codes, message, commands } = await check();

  expect(codes).toEqual(['OperatorStopped']);
  expect(message).toMatch(/has 0 replicas$/);
  const [command = ''] = commands;
  await kubectlOk(controlPlane, command.split(' ').slice(1));
  expect((await check()).codes).toEqual([]);
});

test.each([
  ['has had no available replica for an hour', HOUR_MS, ['OperatorStopped']],
  // Its node reboots.
  ['has just lost its replica', 0, []],
])('judges an operator that %s', async (_what, msAgo, codes) => {
  const available = { type: 'Available', status: 'False', lastTransitionTime: toTime(msAgo) };
  await createDeployment(CONTROLLER, 1, { conditions: [available] });
  expect((await check()).codes).toEqual(codes);
});

test.each([
  ['an hour ago', HOUR_MS, ['OperatorStopped']],
  ['just now', 0, []],
])('judges a controller that has renewed its Lease %s', async (_when, msAgo, codes) => {
  const renewTime = toTime(msAgo).replace('Z', '000Z');
  const metadata = { name: CONTROLLER };
  await admin.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: { renewTime } });
  expect((await check()).codes).toEqual(codes);
});

const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const UNREADY = { phase: 'Running' };

/** A pod on the node that updates, which belongs to the owner of this kind. By default, it is ready. */
async function createPod(
  name: string,
  app: string,
  ownerKind?: string,
  finalizers?: readonly string[],
  status = READY,
) {
  const owner = { apiVersion: 'apps/v1', kind: ownerKind, name: 'owner', uid: 'uid' };
  const ownerReferences = ownerKind === undefined ? [] : [owner];
  const metadata = { name, labels: { app }, ownerReferences, finalizers };
  const spec = { nodeName: 'worker-0', containers: [{ name: 'app', image: 'app' }] };
  await admin.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  await admin.patch(`${PODS}/${name}/status`, { status });
}

async function createBudget(name: string, selector: object, disruptionsAllowed: number, expectedPods = 1) {
  const spec = { minAvailable: 1, selector };
  await admin.create(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name }, spec });
  const status = { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods, observedGeneration: 1 };
  await admin.patch(`${BUDGETS}/${name}/status`, { status });
}

test('names the budget that blocks a drain, and its pod', async () => {
  // The collector would delete a pod whose owner does not exist.
  await createPod('db-0', 'db');
  await createPod('web-0', 'web');
  await createPod('log-0', 'db', 'DaemonSet');
  await createBudget('db', { matchLabels: { app: 'db' } }, 0);
  await createBudget('web', { matchLabels: { app: 'web' } }, 1);
  await createBudget('other', { matchLabels: { app: 'other' } }, 0);
  expect((await check()).codes).toEqual([]);
  const annotations = { [`${MCO}/desiredDrain`]: 'drain-x', [`${MCO}/lastAppliedDrain`]: 'uncordon-y' };
  await admin.patch(`${PATHS.nodes}/worker-0`, { metadata: { annotations } });

  const { causes, report } = await checkCluster(api);

  const budgets = [{ namespace: 'default', name: 'db', pods: ['db-0'] }];
  expect(causes).toMatchObject([{ code: 'DrainBlocked', budgets, endingPods: [], waiting: { helps: false } }]);
  expect(report.repairs).toMatchObject([{ command: null }]);

  await admin.delete(BUDGETS);
  await createBudget('db', { matchLabels: { app: 'db' } }, 0, 2);
  expect((await check()).codes).toEqual([]);
});

/** Whether the API server would evict the pod now. */
async function isEvictable(name: string): Promise<boolean> {
  const deleteOptions = { dryRun: ['All'] };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions };
  const { status } = await admin.request('POST', `${PODS}/${name}/eviction`, eviction, { query: { dryRun: 'All' } });
  expect([201, 429, 500]).toContain(status);
  return status === 201;
}

test('waits for the pods that the API server does not evict, and for no others', async () => {
  const create = async (name: string, budget: object, status: object, healthy: number, allowed = 0) => {
    await createPod(name, name, undefined, undefined, status as typeof READY);
    const spec = { minAvailable: 1, selector: { matchLabels: { app: name } }, ...budget };
    await admin.create(BUDGETS, { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name }, spec });
    const counts = { disruptionsAllowed: allowed, currentHealthy: healthy, desiredHealthy: 1, expectedPods: 2 };
    await admin.patch(`${BUDGETS}/${name}/status`, { status: { ...counts, observedGeneration: 1 } });
  };
  await create('guarded', {}, READY, 1);
  await create('allowed', {}, READY, 2, 1);
  await create('pending', {}, { phase: 'Pending' }, 0);
  await create('unready', {}, UNREADY, 0);
  await create('unready-beside-others', {}, UNREADY, 1);
  await create('unready-and-allowed', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, UNREADY, 0);
  await create('shared', {}, READY, 2, 1);
  await createBudget('shared-too', { matchLabels: { app: 'shared' } }, 1);
  const annotations = { [`${MCO}/desiredDrain`]: 'drain-x', [`${MCO}/lastAppliedDrain`]: 'uncordon-y' };
  await admin.patch(`${PATHS.nodes}/worker-0`, { metadata: { annotations } });

  const { drainObstacles } = await readAt(new Date());
  const pods = drainObstacles.get('worker-0')?.budgets.flatMap((budget) => budget.pods) ?? [];
  const names = (await admin.list(PODS)).map(({ metadata }) => metadata.name);
  const evictable = await Promise.all(names.map(isEvictable));

  expect(pods.toSorted()).toEqual(['guarded', 'shared', 'unready']);
  expect(names.filter((_name, index) => evictable[index] === false)).toEqual(pods.toSorted());
});

/** What the check reads at this time. */
async function readAt(now: Date) {
  const { signal } = new AbortController();
  return await readObstacles(api, await readClusterSnapshot(api, undefined, signal), now, signal);
}

test('names an evicted pod, and says until when it may take, or that it is late', async () => {
  await createPod('db-0', 'db', 'StatefulSet', ['example.com/volume']);
  await createPod('web-0', 'web');
  await admin.delete(`${PODS}/db-0`, { gracePeriodSeconds: '0' });
  const annotations = { [`${MCO}/desiredDrain`]: 'drain-x', [`${MCO}/lastAppliedDrain`]: 'uncordon-y' };
  await admin.patch(`${PATHS.nodes}/worker-0`, { metadata: { annotations } });

  const soon = await readAt(new Date());
  const late = await readAt(new Date(Date.now() + HOUR_MS));
  await admin.patch(`${PODS}/db-0`, { metadata: { finalizers: null } });

  expect(soon.drainObstacles.get('worker-0')).toMatchObject({
    endingPods: ['default/db-0'],
    graceEnd: expect.any(Date) as Date,
  });
  expect(late.drainObstacles.get('worker-0')).toEqual({
    budgets: [],
    endingPods: ['default/db-0'],
    isFree: false,
  });
});

test.each([
  ['DiskPressure', 'True', ['NodeUnavailable?']],
  ['NetworkUnavailable', 'Unknown', ['NodeUnavailable?']],
  ['MemoryPressure', 'True', []],
  ['DiskPressure', 'False', []],
])('judges a ready node whose condition %s is %s, in a roll-out', async (type, status, codes) => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: toTime(HOUR_MS) };
  const condition = { type, status, message: 'a message', lastTransitionTime: toTime(0) };
  await admin.patch(`${PATHS.nodes}/worker-1/status`, { status: { conditions: [ready, condition] } });
  expect((await check()).codes).toEqual(codes);
});

test('finds the pools whose rendering a failed KubeletConfig or ContainerRuntimeConfig stops', async () => {
  const create = async (kind: string, name: string, selector: object, type: string) => {
    const collection = `/apis/${MCO}/v1/${kind.toLowerCase()}s`;
    const spec = { machineConfigPoolSelector: selector, containerRuntimeConfig: { pidsLimit: 2048 } };
    await admin.create(collection, { apiVersion: `${MCO}/v1`, kind, metadata: { name }, spec });
    // As the operator writes them: each new one is appended, and a failure is not True.
    const conditions = ['Failure', type].map((each) => ({ type: each, status: 'False', message: `is a ${each}` }));
    await admin.patch(`${collection}/${name}/status`, { status: { conditions } });
  };
  await admin.patch(`${PATHS.pools}/worker`, { metadata: { labels: { tuned: 'yes' } } });
  await create('KubeletConfig', 'fails', { matchLabels: { tuned: 'yes' } }, 'Failure');
  await create('KubeletConfig', 'works', { matchLabels: { tuned: 'yes' } }, 'Success');
  await create('KubeletConfig', 'elsewhere', { matchLabels: { tuned: 'no' } }, 'Failure');
  await create('ContainerRuntimeConfig', 'everywhere', {}, 'Failure');

  const { failedSources } = await readAt(new Date());
  for (const name of ['kubeletconfigs', 'containerruntimeconfigs']) await admin.delete(`/apis/${MCO}/v1/${name}`);

  expect(failedSources).toEqual([
    { kind: 'KubeletConfig', name: 'elsewhere', message: 'is a Failure', pools: [] },
    { kind: 'KubeletConfig', name: 'fails', message: 'is a Failure', pools: ['worker'] },
    { kind: 'ContainerRuntimeConfig', name: 'everywhere', message: 'is a Failure', pools: ['worker'] },
  ]);
});

test('finds a machine-os-builder that was scaled down, if a pool is in image mode', async () => {
  await createDeployment('machine-os-builder', 0, {});
  expect((await check()).codes).toEqual([]);
  await installed.clear();
  await createState(installed, 'a build that does not start');
  expect((await check()).codes).toContain('OperatorStopped');
});
