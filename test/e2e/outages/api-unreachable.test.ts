import { afterEach, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { withPatience } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const { cluster, network } = await sharedGuardedCluster();

// After each fault, the first deletion is answered rightly, whether the watches have recovered or not.
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
