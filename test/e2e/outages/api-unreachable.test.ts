import { afterEach, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { Cluster } from '../support/cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { PATHS } from '../support/paths.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const guarded = await sharedGuardedCluster();
const { network } = guarded;
const cluster = new Cluster(guarded.connection);

afterEach(async () => {
  await network.resume();
  await cluster.node();
  const config = await cluster.config();
  const isAllowed = async () => (await cluster.delete(config)).status === 200;
  await until('the guard to recover', isAllowed);
});

test('recovers from a gap in its watches that ends with 410', async () => {
  const first = await cluster.config();
  const second = await cluster.config();
  const name = await cluster.node({ currentConfig: first });
  const isInIndex = async (config: string) => {
    expect([403, 503]).toContain((await cluster.delete(config)).status);
    const decisions = await decisionsAbout(guarded.guard.log, config);
    return decisions.some(({ path }) => path === 'index');
  };
  const polling = { everyMs: 500 };
  await until('the index to have the node', () => isInIndex(first), polling);
  const list = await cluster.admin.request('GET', PATHS.nodes);
  const { resourceVersion } = (list.body as { metadata: { resourceVersion: string } }).metadata;

  await network.refuse();
  await cluster.moveNode(name, { currentConfig: second });
  await guarded.controlPlane.apiServer.restart();
  await guarded.controlPlane.etcd.compact();
  const query = { watch: '1', resourceVersion, timeoutSeconds: '1' };
  const watch = await cluster.admin.request('GET', PATHS.nodes, undefined, { query });
  // The API server answers a watch with 410, or with 200 and an ERROR event.
  const event = watch.body as { readonly object?: { readonly code?: number } };
  expect(event.object?.code ?? watch.status).toBe(410);
  await network.resume();

  await until('the index to have the change', () => isInIndex(second), polling);
  await cluster.expectDenied(second, [{ kind: 'Node', name, field: 'currentConfig' }]);
  await cluster.expectAllowed(first);
  expect(guarded.guard.isRunning).toBe(true);
}, 120_000);

test.for(['refuse', 'silence'] as const)(
  'denies in time while the network can only %s, except by the annotation',
  async (outage) => {
    const unused = await cluster.config();
    const used = await cluster.config();
    const annotations = { 'machineconfig-guard.io/allow-deletion': 'API unreachable' };
    const overridden = await cluster.config({ annotations });
    for (const config of [used, overridden]) await cluster.node({ currentConfig: config });
    await network[outage]();

    // The first call finds open connections. The second one has to open new ones.
    // After 5 s the API server answers itself.
    for (let call = 0; call < 2; call += 1) await cluster.expectUnverified(unused);
    expect(statusOf(await cluster.delete(used)).message).toMatch(/MCG_IN_USE|MCG_UNVERIFIED/);
    expect(await cluster.exists(used)).toBe(true);
    expect((await cluster.delete(overridden)).status).toBe(200);
  },
);

test('denies when the connections break in the middle of a decision', async () => {
  const config = await cluster.config();
  network.silence();
  const pending = cluster.expectUnverified(config);
  await pause(500);
  await network.refuse();

  await pending;
});
