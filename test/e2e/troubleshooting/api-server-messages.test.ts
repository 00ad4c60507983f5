import { once } from 'node:events';
import { type AddressInfo, createServer as createSilentServer, type Server } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';
import { encodeBase64 } from '../../../src/install/manifest.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { kubectl } from '../support/kubectl.ts';
import { MCO, PATHS } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const LAST_WEEK = new Date(Date.now() - 7 * 86_400_000);
const SERVICE = { namespace: 'default', name: 'machineconfig-guard' };
const NAMESPACE = `${PATHS.namespaces}/default`;

const { cluster, controlPlane } = await sharedInstalledCluster();
const { admin } = cluster;

async function toUrl(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a server whose certificate has this address and was issued at this time. */
async function startServer(ipAddress: string, now = new Date()) {
  const authority = await createAuthority({ days: 30, now });
  const leaf = await issueLeaf({ authority, dnsNames: [], ipAddresses: [ipAddress], days: 1, now });
  const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem });
  const caBundle = encodeBase64(authority.certificatePem);
  return { url: await toUrl(server.on('tlsClientError', () => undefined)), caBundle };
}

async function startUnknown() {
  const { caBundle } = await startServer('127.0.0.1');
  return { ...(await startServer('127.0.0.1')), caBundle };
}

async function createService() {
  const metadata = { name: SERVICE.name };
  const spec = { ports: [{ port: 443 }] };
  await admin.create(`${NAMESPACE}/services`, { apiVersion: 'v1', kind: 'Service', metadata, spec });
  // As the endpoints controller does.
  await admin.create(`${NAMESPACE}/endpoints`, { apiVersion: 'v1', kind: 'Endpoints', metadata });
  return { service: SERVICE };
}

// docs/troubleshooting.md quotes these texts. The webhook is not that of the guard.
test.for<[text: string, createClientConfig: () => Promise<object>]>([
  ['service "machineconfig-guard" not found', async () => ({ service: SERVICE })],
  ['no endpoints available for service "machineconfig-guard"', createService],
  ['x509: certificate signed by unknown authority', startUnknown],
  ['x509: certificate has expired or is not yet valid', () => startServer('127.0.0.1', LAST_WEEK)],
  ['x509: certificate is valid for 10.1.2.3, not 127.0.0.1', () => startServer('10.1.2.3')],
  ['connect: connection refused', async () => ({ url: 'https://127.0.0.1:1' })],
  ['context deadline exceeded', async () => ({ url: await toUrl(createSilentServer()) })],
])('the API server says "%s"', async ([text, createClientConfig]) => {
  const name = unique('broken');
  const config = await cluster.config({ labels: { [name]: '' } });
  await cluster.node();
  const rule = { apiGroups: [MCO], apiVersions: ['v1'], operations: ['DELETE'], resources: ['machineconfigs'] };
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: await createClientConfig(),
    rules: [rule],
    objectSelector: { matchLabels: { [name]: '' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 1,
  };
  const kind = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  await admin.create(PATHS.webhookConfigurations, { ...kind, metadata: { name }, webhooks: [webhook] });
  onTestFinished(async () => void (await admin.delete(`${PATHS.webhookConfigurations}/${name}`)));

  await expect.poll(async () => statusOf(await cluster.dryRun(config)).message ?? '').toContain(text);
});

test('kubectl says which kind the cluster lacks', async () => {
  const object = { apiVersion: 'config.openshift.io/v1', kind: 'Absent', metadata: { name: 'cluster' } };
  const { stderr } = await kubectl(controlPlane, ['apply', '--filename=-'], JSON.stringify(object));
  expect(stderr).toContain('no matches for kind "Absent" in version "config.openshift.io/v1"');
});
