import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test("a config that only a pool's status names is not deleted, and the answer says which pool", async () => {
  const config = await cluster.config();
  const next = await cluster.config();
  const pool = (await cluster.pool({ spec: next, status: config })).metadata.name;

  const response = await cluster.delete(config);

  const referrers = [{ kind: 'MachineConfigPool', name: pool, field: 'status' }];
  expect(await cluster.outcome(config, response)).toEqual(refusedInUse(config, referrers));
  expect(statusOf(response).message).toContain(`is in use by pool ${pool} (status).`);
});
