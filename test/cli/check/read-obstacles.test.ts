import { expect, test } from 'vitest';
import { readObstacles } from '../../../src/cli/check/read-obstacles.ts';
import { inspectedPool } from '../../diagnosis/checked-cluster.ts';
import { NEVER_ABORTED } from '../../../src/common/wait.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { InProcessApi } from '../../support/in-process-api.ts';

const NAMESPACE = 'openshift-machine-config-operator';
const SINCE = '2026-11-20T11:50:00Z';
const UNAVAILABLE = { conditions: [{ type: 'Available', status: 'False', lastTransitionTime: SINCE }] };

const toLease = (name: string, namespace = NAMESPACE) => {
  return ['leases', { metadata: { name, namespace }, spec: { renewTime: SINCE } }] as const;
};
const toDeployment = (name: string, namespace = NAMESPACE) => {
  return ['deployments', { metadata: { name, namespace }, status: UNAVAILABLE }] as const;
};
const OS_CONFIG = { name: 'layered', pool: 'worker', currentBuild: undefined, image: '' };
const TYPO = { ...OS_CONFIG, name: 'layered-2', pool: 'wroker' };

test.each([
  ['a Lease', toLease('machine-config-controller'), 'machine-config-controller has not renewed its Lease since'],
  ['another Lease', toLease('other'), ''],
  ['a Lease of another namespace', toLease('machine-config-controller', 'other'), ''],
  [
    'the controller',
    toDeployment('machine-config-controller'),
    'machine-config-controller has had no available replica',
  ],
  ['the operator', toDeployment('machine-config-operator'), 'machine-config-operator has had no available replica'],
  ['the image builder', toDeployment('machine-os-builder'), 'machine-os-builder has had no available replica'],
  ['another Deployment', toDeployment('other'), ''],
  ['a Deployment of another namespace', toDeployment('machine-config-operator', 'other'), ''],
])('reports %s that has stopped for more than 10 minutes', async (_what, [resource, object], text) => {
  const cluster = new InMemoryCluster();
  cluster.create(resource, object);
  const api = new InProcessApi(cluster) as unknown as KubeApi;
  const read = async (now: string, osConfigs = [OS_CONFIG]) => {
    const { stoppedOperators } = await readObstacles(
      api,
      { nodes: [], pools: [], osConfigs },
      new Date(now),
      NEVER_ABORTED,
    );
    return stoppedOperators.map(({ deployment, state }) => `${deployment} ${state}`).join();
  };
  expect(await read('2026-11-20T12:00:00.000Z')).toBe('');
  expect(await read('2026-11-20T12:00:00.001Z')).toMatch(text === '' ? /^$/ : new RegExp(`^${text}`));
  // It runs only in image mode.
  if (text.startsWith('machine-os-builder')) expect(await read('2026-11-20T13:00:00Z', [])).toBe('');
});

test('reports a MachineOSConfig whose pool does not exist', async () => {
  const api = new InProcessApi(new InMemoryCluster()) as unknown as KubeApi;
  const cluster = { nodes: [], pools: [inspectedPool('worker', {})], osConfigs: [OS_CONFIG, TYPO] };
  const { failedSources } = await readObstacles(api, cluster, new Date(SINCE), NEVER_ABORTED);
  expect(failedSources).toEqual([
    { kind: 'MachineOSConfig', name: 'layered-2', message: 'no pool wroker exists', pools: [] },
  ]);
});
