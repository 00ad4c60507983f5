import { beforeEach, expect, test } from 'vitest';
import { ClusterAccessError } from '../../src/client/cluster-access.ts';
import { toCliError } from '../../src/client/cluster-error.ts';
import { readClusterSnapshot, readReferrers } from '../../src/client/cluster-reader.ts';
import { CliError } from '../../src/client/exit.ts';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { NODES_PATH } from '../../src/kube/api-paths.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable, MalformedList } from '../../src/kube/errors.ts';
import { annotate, createNode, createPool, NEW, OLD } from '../cli/inspected-cluster.ts';
import type { Fault } from '../support/faults.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP, POOLS_PATH } from '../../src/mco/api-paths.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

const CONFIG = toConfigName(OLD);
const MCO_PATH = '/apis/machineconfiguration.openshift.io/v1';
const { signal } = new AbortController();

let cluster: TestCluster;
let api: KubeApi;

beforeEach(async () => {
  cluster = await startTestCluster();
  api = cluster.connect();
  for (const name of ['w1', 'w0']) createNode(cluster, name, { currentConfig: OLD });
  const windows = { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/os': 'windows' };
  // The operator does not manage them.
  for (const [name, labels] of Object.entries({ windows, edge: {} }))
    cluster.create('nodes', { metadata: { name, labels } });
  createPool(cluster, 'worker', { spec: OLD });
  cluster.create('machineosbuilds', { metadata: { name: 'b0' }, spec: { machineConfig: { name: CONFIG } } });
  cluster.create('machineconfigs', { metadata: { name: CONFIG }, spec: { text: 'ä'.repeat(100_000) } });
});

test('reads nodes, pools and then config names, each in one unpaged list', async () => {
  const { nodes, skippedNodes, pools, configs } = await readClusterSnapshot(api, undefined, signal);
  expect(nodes.map(({ name }) => name)).toEqual(['w0', 'w1']);
  expect(skippedNodes).toEqual(['edge', 'windows']);
  const specReference = { field: 'spec', config: CONFIG, strength: 'strong' };
  expect(pools.map(({ references }) => references)).toEqual([[specReference]]);
  expect([...configs]).toEqual([CONFIG]);
  const { requests } = cluster.faults;
  const paths = requests.map(({ path }) => path);
  const imageMode = [`${MCO_PATH}/machineosbuilds`, `${MCO_PATH}/machineosconfigs`];
  expect(paths).toEqual([NODES_PATH, POOLS_PATH, ...imageMode, MACHINE_CONFIGS_PATH]);
  for (const { path, query, headers } of requests) {
    expect(query.size).toBe(0);
    // Nodes and pools are needed whole. A list in protobuf would be parsed without managedFields.
    const isMetadataOnly = headers.accept?.startsWith('application/json;as=PartialObjectMetadataList') === true;
    expect(isMetadataOnly).toBe(path === MACHINE_CONFIGS_PATH);
  }
});

test('reads only doubtful nodes again, and keeps what existed for the others', async () => {
  const snapshot = await readClusterSnapshot(api, undefined, signal);
  const before = cluster.faults.requests.length;
  cluster.erase('machineconfigs', CONFIG);
  cluster.create('machineconfigs', { metadata: { name: toConfigName(NEW) } });
  for (const name of ['w0', 'w1']) annotate(cluster, name, { currentConfig: NEW });
  const again = await readClusterSnapshot(api, undefined, signal, { snapshot, doubtful: new Set(['w1', 'gone']) });
  const current = again.nodes.map(({ name, references }) => [name, references[0]?.config]);
  expect(current).toEqual([
    ['w0', OLD],
    ['w1', NEW],
  ]);
  expect(again.skippedNodes).toEqual(snapshot.skippedNodes);
  expect([...again.configs].toSorted()).toEqual([CONFIG, NEW].toSorted());
  const lists = cluster.faults.requests.slice(before).filter(({ path }) => path === NODES_PATH);
  expect(lists.map(({ query }) => query.get('fieldSelector'))).toEqual(['metadata.name=w1', 'metadata.name=gone']);
});

test.each([
  [20, 20],
  [21, 1],
])('lists the nodes again for %i doubtful nodes with %i requests', async (doubtfulCount, listCount) => {
  const snapshot = await readClusterSnapshot(api, undefined, signal);
  const before = cluster.faults.requests.length;
  const doubtful = new Set(Array.from({ length: doubtfulCount }, (_, index) => `n${index}`));
  await readClusterSnapshot(api, undefined, signal, { snapshot, doubtful });
  const lists = cluster.faults.requests.slice(before).filter(({ path }) => path === NODES_PATH);
  expect(lists).toHaveLength(listCount);
});

test.each([[['v1']], [['v1alpha1']]])('reads the MachineOSConfigs that the cluster serves at %j', async (versions) => {
  const spec = { machineConfigPool: { name: 'worker' } };
  cluster.create('machineosconfigs', { metadata: { name: 'c0' }, spec, status: { currentImagePullSpec: 'a/b@c' } });
  cluster.serve('machineosconfigs', versions);
  const { osConfigs } = await readClusterSnapshot(api, undefined, signal);
  const osConfig = { name: 'c0', pool: 'worker', currentBuild: undefined, image: 'a/b@c', rebuild: undefined };
  expect(osConfigs).toEqual([osConfig]);
});

test.each([
  [['v1alpha1'], ['MachineConfigPool', 'MachineOSBuild', 'Node', 'Node']],
  [[], ['MachineConfigPool', 'Node', 'Node']],
])('reads all referrers if builds are served at %j', async (versions, kinds) => {
  cluster.serve('machineosbuilds', versions);
  const { referrers } = await readReferrers(api, signal);
  expect(referrers.map(({ kind }) => kind).toSorted()).toEqual(kinds);
});

test('names a resource that the cluster serves only in a later version', async () => {
  cluster.serve('machineosbuilds', ['v2']);
  const failure: unknown = await readReferrers(api, signal).catch((error: unknown) => toCliError(error, api));
  expect(failure).toBeInstanceOf(CliError);
  expect((failure as CliError).message).toContain('cannot list machineosbuilds');
  expect((failure as CliError).message).toContain('only as v2, which this version of the guard cannot read');
});

test.each<[string, (list: string) => Fault, new (...args: never[]) => Error]>([
  ['is not served', () => ({ status: 404, body: { kind: 'Status' } }), ApiError],
  ['is cut off', (list) => ({ status: 200, body: list.slice(0, -3) }), MalformedList],
  ['is reset', () => 'reset', ApiUnreachable],
  ['has an object without a name', (list) => ({ status: 200, body: list }), MalformedObject],
])('names the resource whose list %s', async (_title, createFault, cause) => {
  const type = { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfigPool' };
  const item = { ...type, metadata: {} };
  const list = { ...type, kind: 'MachineConfigPoolList', metadata: { resourceVersion: '1' }, items: [item] };
  cluster.faults.intercept(({ path }) => (path === POOLS_PATH ? createFault(JSON.stringify(list)) : 'pass'));
  const failure: unknown = await readClusterSnapshot(api, undefined, signal).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ClusterAccessError);
  const access = { verb: 'list', resource: 'machineconfigpools', group: MCO_GROUP };
  expect(failure).toMatchObject({ access, cause: expect.any(cause) });
});
