import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { refusedInUse, sharedCluster } from '../support/cluster.ts';

const cluster = sharedCluster();

test("a config that only a node's currentConfig names is not deleted, and the answer says which node", async () => {
  const config = await cluster.config();
  const next = await cluster.config();
  const node = await cluster.node({ currentConfig: config, desiredConfig: next });

  const response = await cluster.delete(config);

  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(config, response)).toEqual(refusedInUse(config, referrers));
  expect(statusOf(response).message).toContain(`is in use by node ${node} (currentConfig).`);
});

test('the refusal reaches the audit log as responseStatus too', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config, desiredConfig: config });

  const event = await cluster.auditEvent(await cluster.delete(config));

  expect(event).toMatchObject({
    verb: 'delete',
    user: { username: 'admin' },
    objectRef: { resource: 'machineconfigs', name: config },
    responseStatus: { code: 403, reason: 'Forbidden' },
  });
  expect(event.responseStatus?.message).toContain('MCG_IN_USE');
});
