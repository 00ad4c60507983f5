import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test("a config that only a node's desiredConfig names is not deleted, and the answer says which node", async () => {
  const config = await cluster.config();
  const old = await cluster.config();
  const node = await cluster.node({ currentConfig: old, desiredConfig: config });

  const response = await cluster.delete(config);

  const referrers = [{ kind: 'Node', name: node, field: 'desiredConfig' }];
  expect(await cluster.outcome(config, response)).toEqual(refusedInUse(config, referrers));
  expect(statusOf(response).message).toContain(`is in use by node ${node} (desiredConfig).`);
});
