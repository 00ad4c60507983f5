import { expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { Cluster } from '../support/cluster.ts';
import { serviceAccountToken } from '../support/service-account.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const guarded = await sharedGuardedCluster();
const { guard, metrics } = guarded;
const cluster = new Cluster(guarded.connection);

test('a service account with the right to get /metrics reads the decisions', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  const text = await metrics.read();

  expect(text).toMatch(/mcguard_decisions_total\{verdict="denied",code="MCG_IN_USE",dry_run="false"\} [1-9]/);
  expect(text).toMatch(/mcguard_index_synced\{resource="nodes"\} [01]\n/);
});

test.for([
  { credentials: 'no token', status: 401, findToken: async () => undefined },
  { credentials: 'an invalid token', status: 401, findToken: async () => 'wrong' },
  {
    credentials: 'the token of the guard, which lacks the right',
    status: 403,
    findToken: () => serviceAccountToken(cluster.admin, 'machineconfig-guard', 'machineconfig-guard'),
  },
])('a caller with $credentials reads nothing', async ({ status, findToken }) => {
  const token = await findToken();
  const client = new KubeClient({ url: guard.metricsUrl, ca: guard.ca, ...(token === undefined ? {} : { token }) });

  const response = await client.request('GET', '/metrics');
  client.close();

  expect(response.status).toBe(status);
  expect(String(response.body)).not.toContain('mcguard_');
});
