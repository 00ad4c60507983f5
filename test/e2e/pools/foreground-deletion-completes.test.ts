import { expect, test } from 'vitest';

import { expectStatus } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();

/** A pool that names the two configs that it owns, deleted so that it waits for them to go first. */
async function deletedInForeground(nodeIsOn: 'its config' | 'another config') {
  const pool = await cluster.pool();
  const path = `${PATHS.pools}/${pool.metadata.name}`;
  const [old, current, other] = [
    await cluster.config({ owner: pool }),
    await cluster.config({ owner: pool }),
    await cluster.config(),
  ];
  await cluster.admin.patch(path, { spec: { configuration: { name: current } } });
  const runs = nodeIsOn === 'its config' ? current : other;
  const node = await cluster.node({ currentConfig: runs, desiredConfig: runs });
  expectStatus(await cluster.admin.delete(path, { propagationPolicy: 'Foreground' }), [200], `DELETE ${path}`);
  const poolIsGone = async () => (await cluster.admin.find(path)) === undefined;
  return { old, current, other, node, poolIsGone };
}

test('the foreground deletion of a pool whose nodes have moved on completes', async () => {
  const { old, current, poolIsGone } = await deletedInForeground('another config');

  await until('the pool to be gone', poolIsGone, { timeoutMs: 30_000 });

  expect(await cluster.exists(old)).toBe(false);
  expect(await cluster.exists(current)).toBe(false);
});

test('the foreground deletion of a pool waits for its nodes and completes once they have moved on', async () => {
  const { old, current, other, node, poolIsGone } = await deletedInForeground('its config');
  await until('the unused config to be gone', async () => !(await cluster.exists(old)), { timeoutMs: 20_000 });
  expect(await cluster.exists(current)).toBe(true);
  expect(await poolIsGone()).toBe(false);

  await cluster.moveNode(node, { currentConfig: other, desiredConfig: other });

  await until('the pool to be gone', poolIsGone, { timeoutMs: 45_000 });
  expect(await cluster.exists(current)).toBe(false);
}, 110_000);
