import { beforeAll, expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { sharedCluster, unique } from '../support/cluster.ts';

const cluster = sharedCluster();
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
let scraper: string;

/** A token of a new service account in the namespace default. */
async function tokenOf(name: string): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await cluster.admin.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await cluster.admin.create(`${accounts}/${name}/token`, request);
  return (status as { token: string }).token;
}

async function scrape(token?: string): Promise<{ status: number; text: string }> {
  const client = new KubeClient({ ...cluster.connection.metrics, ...(token === undefined ? {} : { token }) });
  try {
    const { status, body } = await client.request('GET', '/metrics');
    return { status, text: String(body) };
  } finally {
    client.close();
  }
}

beforeAll(async () => {
  const name = unique('scraper');
  scraper = await tokenOf(name);
  const metadata = { name };
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  await cluster.admin.create(`${RBAC}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata,
    rules,
  });
  await cluster.admin.create(`${RBAC}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
  });
});

test('a service account with the right to get /metrics reads how decisions went', async () => {
  const before = await cluster.config();
  await cluster.node({ currentConfig: before });
  expect((await cluster.delete(before)).status).toBe(403);

  // A binding takes the API server a moment to notice.
  await expect.poll(async () => (await scrape(scraper)).status, { timeout: 15_000 }).toBe(200);
  const { text } = await scrape(scraper);
  expect(text).toMatch(/mcguard_decisions_total\{verdict="denied",code="MCG_IN_USE",dry_run="false"\} [1-9]/);
  expect(text).toContain('mcguard_index_synced{resource="nodes"} 1\n');
});

test('without a token, with a wrong one, and with one that lacks the right there is nothing to read', async () => {
  const { token } = cluster.connection.guard;
  const answers = [await scrape(), await scrape('wrong'), await scrape(token)];
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 403]);
  for (const { text } of answers) expect(text).not.toContain('mcguard_');
});
