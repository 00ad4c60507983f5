import { afterEach, expect, test } from 'vitest';
import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/objects.ts';
import { withPatience } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const { cluster, guard, network } = await sharedGuardedCluster();

// After each outage, the first deletion is answered rightly, whether the watches have recovered or not.
afterEach(async () => {
  await network.resume();
  const [used, unused] = [await cluster.config(), await cluster.config()];
  const name = await cluster.node({ currentConfig: used });
  await withPatience(cluster.admin, async () => {
    await cluster.expectAllowed(unused);
    await cluster.expectDenied(used, [{ kind: 'Node', name, field: 'currentConfig' }]);
  });
});

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
    for (let call = 0; call < 2; call += 1) {
      expect(statusOf(await cluster.delete(unused))).toMatchObject({
        code: 503,
        reason: 'ServiceUnavailable',
        message: expect.stringContaining(`MCG_UNVERIFIED: could not verify whether ${unused} is in use`) as string,
      });
    }
    expect(statusOf(await cluster.delete(used)).message).toMatch(/MCG_IN_USE|MCG_UNVERIFIED/);
    expect(await cluster.exists(used)).toBe(true);
    expect((await cluster.delete(overridden)).status).toBe(200);
  },
);

test('everything else works while the guard is stopped, but no rendered config is deleted', async () => {
  const config = await cluster.config();
  const source = await cluster.config({ name: unique('99-worker') });
  const node = await cluster.node({ currentConfig: config });
  await guard.stop();
  try {
    const response = await cluster.delete(config);
    expect([response.status, statusOf(response).message]).toEqual([
      500,
      expect.stringContaining('failed calling webhook'),
    ]);
    expect(await cluster.exists(config)).toBe(true);
    expect((await cluster.delete(source)).status).toBe(200);
    await cluster.admin.patch(`${PATHS.configs}/${config}`, { metadata: { annotations: { changed: 'yes' } } });
    const pool = (await cluster.pool({ spec: config })).metadata.name;
    const build = await cluster.build(config, 'Building');
    await cluster.moveNode(node, { desiredConfig: config });
    for (const path of [`${PATHS.pools}/${pool}`, `${PATHS.builds}/${build}`, `${PATHS.nodes}/${node}`])
      expect((await cluster.admin.delete(path)).status).toBe(200);
  } finally {
    await guard.restart();
  }
});
