import { expect, test } from 'vitest';
import { readField } from '../../install/read-field.ts';
import { KubeClient } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { PATHS } from '../support/objects.ts';
import { ALERTS } from './alerting-rules.ts';

interface EndpointSlice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/machineconfig-guard/endpointslices';
const installed = await sharedNodeCluster();
await installed.applyOverlay('monitoring');
await installed.awaitGuard();
const { cluster } = installed;
const { admin } = cluster;

test('the ServiceMonitor scrapes every replica with its credentials, and none without', async () => {
  const monitor = await admin.find(PATHS.monitor);
  const read = (field: string) => String(readField(monitor, `spec.endpoints.0.${field}`));
  const readKey = (kind: string, field: string) => {
    const [name, key] = [read(`${field}.name`), read(`${field}.key`)];
    const find = async () => (await admin.find(`${PATHS.guardNamespace}/${kind}/${name}`))?.data?.[key];
    return until(`the key ${key} of ${name}`, find);
  };
  const token = Buffer.from(await readKey('secrets', 'authorization.credentials'), 'base64').toString();
  const tls = { ca: await readKey('configmaps', 'tlsConfig.ca.configMap'), servername: read('tlsConfig.serverName') };
  const slices = (await admin.list(SLICES)) as readonly unknown[] as readonly EndpointSlice[];
  const urls = slices.flatMap(({ endpoints, ports }) => {
    const number = ports.find(({ name }) => name === read('port'))?.port;
    return endpoints.flatMap(({ addresses }) => addresses.map((address) => `${read('scheme')}://${address}:${number}`));
  });
  expect(urls).toHaveLength(2);
  for (const url of urls) {
    const { status, body } = await new KubeClient({ url, token, ...tls }).request('GET', read('path'));
    expect([status, body]).toEqual([200, expect.stringContaining('\nmcguard_build_info{')]);
    expect((await new KubeClient({ url, ...tls }).request('GET', read('path'))).status).toBe(401);
  }
});

test('the API server counts what the alerts of an unreachable guard select', async () => {
  const dryRunStatus = async () => (await cluster.dryRun(await cluster.config())).status;
  const setFailurePolicy = (value: 'Fail' | 'Ignore') =>
    admin.patch(PATHS.guardWebhook, [{ op: 'replace', path: '/webhooks/0/failurePolicy', value }]);
  await admin.patch(PATHS.deployment, { spec: { replicas: 0 } });
  await expect.poll(dryRunStatus).toBe(500);
  await setFailurePolicy('Ignore');
  await expect.poll(dryRunStatus).toBe(200);

  const { body } = await admin.request('GET', '/metrics');
  const [open, unreachable] = ALERTS.flatMap(({ expr }) => /apiserver_\w+/.exec(expr)?.[0] ?? []);
  expect(body).toMatch(new RegExp(`^${open}\\{.*name="guard.machineconfig-guard.io".*\\} [1-9]`, 'm'));
  const labels = 'error_type="calling_webhook_error",name="guard.machineconfig-guard.io"';
  expect(body).toMatch(new RegExp(`^${unreachable}\\{${labels}.*\\} [1-9]`, 'm'));
});
