import { afterEach, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { Cluster } from '../support/cluster.ts';
import { startGuardedCluster } from '../support/guarded-cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const guarded = await sharedGuardedCluster();
const cluster = new Cluster(guarded.connection);
const { replies } = guarded.throttle;
const METADATA_LIST = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' };
const NO_NODES = 'nodes: the API server listed no nodes, but every cluster has one';

afterEach(() => replies.clear());

/** A list with the current version. The API server would send each of these bodies to another request. */
async function formatList(type: object, items: readonly object[] | null): Promise<string> {
  const current = await readList(PATHS.nodes);
  const { resourceVersion } = (JSON.parse(current) as { metadata: { resourceVersion: string } }).metadata;
  return JSON.stringify({ ...type, metadata: { resourceVersion }, items });
}

async function readList(path: string): Promise<string> {
  return JSON.stringify((await cluster.admin.request('GET', path)).body);
}

const toMetadata = (name: string, namespace?: string) => ({
  apiVersion: 'meta.k8s.io/v1',
  kind: 'PartialObjectMetadata',
  metadata: { name, namespace },
});

test.each<[string, string, () => Promise<string>, string]>([
  ['an empty list', PATHS.nodes, () => formatList({ apiVersion: 'v1', kind: 'NodeList' }, []), NO_NODES],
  ['null', PATHS.nodes, () => formatList(METADATA_LIST, null), NO_NODES],
  [
    'the list of pools',
    PATHS.nodes,
    () => readList(PATHS.pools),
    'nodes: the response is not a NodeList or PartialObjectMetadataList',
  ],
  [
    'metadata of objects in namespaces',
    PATHS.nodes,
    () => formatList(METADATA_LIST, [toMetadata('worker', 'default')]),
    'nodes: an item of the list has a namespace, unlike a Node',
  ],
  [
    'metadata',
    PATHS.pools,
    () => formatList(METADATA_LIST, [toMetadata('worker')]),
    'machineconfigpools: the response is not a MachineConfigPoolList',
  ],
  [
    'the list of nodes',
    PATHS.builds,
    () => readList(PATHS.nodes),
    'machineosbuilds: the response is not a MachineOSBuildList',
  ],
])('denies as unverified while %s is answered to a list of %s', async (_title, path, reply, reason) => {
  await cluster.node();
  const config = await cluster.config();
  replies.set(path, await reply());

  const response = await cluster.expectUnverified(config);

  expect(statusOf(response).message).toContain(reason);
  replies.clear();
  await cluster.expectAllowed(config);
});

test('does not allow the deletion of a config in use if the nodes are hidden since the start', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  replies.set(PATHS.nodes, await formatList({ apiVersion: 'v1', kind: 'NodeList' }, []));
  await guarded.guard.restart();

  await cluster.expectUnverified(config);

  replies.clear();
  expect((await cluster.delete(config)).status).toBe(403);
});

test('denies as unverified while an old list of nodes is answered', async () => {
  const old = await readList(PATHS.nodes);
  const moved = await cluster.config();
  const config = await cluster.config();
  await cluster.node({ currentConfig: moved });
  const isInIndex = async () => {
    await cluster.dryRun(moved);
    return (await decisionsAbout(guarded.guard.log, moved)).some(({ path }) => path === 'index');
  };
  await until('the index to have the node', isInIndex, { timeoutMs: 30_000 });
  replies.set(PATHS.nodes, old);

  const response = await cluster.expectUnverified(config);

  expect(statusOf(response).message).toMatch(/nodes: the list has version \d+, but \d+ was seen before/);
  replies.clear();
  await cluster.expectAllowed(config);
});

test('allows a deletion within seconds after an etcd restore', async () => {
  const own = await startGuardedCluster(await runBinaries());
  try {
    const { controlPlane, guard } = own;
    const restored = new Cluster(own.connection);
    const node = await restored.node();
    const config = await restored.config();
    await controlPlane.backUpEtcd();
    const { admin } = controlPlane.apiServer;
    await until('the API server to reach etcd', () => admin.isReady('/readyz'), { timeoutMs: 60_000 });
    for (let write = 0; write < 50; write += 1) {
      await admin.patch(`${PATHS.nodes}/${node}`, { metadata: { annotations: { write: String(write) } } });
    }
    const moved = await restored.config();
    await restored.moveNode(node, { currentConfig: moved });
    const isInIndex = async () => {
      await restored.dryRun(moved);
      return (await decisionsAbout(guard.log, moved)).some(({ path }) => path === 'index');
    };
    await until('the index to have the node', isInIndex, { timeoutMs: 30_000 });

    await controlPlane.restoreEtcd();

    const deletionStatus = async () => (await restored.delete(config)).status;
    await expect.poll(deletionStatus, { timeout: 10_000 }).toBe(200);
  } finally {
    await own.stop();
  }
}, 180_000);
