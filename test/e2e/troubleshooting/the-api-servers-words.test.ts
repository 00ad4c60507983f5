import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { createAuthority } from '../../../src/certificates/authority.ts';
import { issueLeaf } from '../../../src/certificates/leaf.ts';
import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { Inspector, READ_ONLY } from '../inspect/inspector.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/troubleshooting.md', import.meta.url)), 'utf8');
const DEPLOYMENT = '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard';
const WEBHOOK = `${PATHS.webhookConfigurations}/machineconfig-guard`;

let installed: InstalledCluster;
let config: string;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  config = await installed.cluster.config();
}, 120_000);

afterAll(() => installed.stop());

/** The text of a heading of the page that ends so (a heading may quote several), as something that a message can be compared with. */
function quoted(end: string): RegExp {
  const headings = [...PAGE.matchAll(/^### (?<heading>`.*`)$/gm)].map(({ groups }) => groups?.['heading'] ?? '');
  const quotes = headings.flatMap((heading) => heading.slice(1, -1).split('`, `'));
  const found = quotes.find((text) => text.endsWith(end));
  if (found === undefined) throw new Error(`docs/troubleshooting.md quotes nothing that ends with ${end}.`);
  const parts = found.split('…').map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('.*'));
}

/** What is said to somebody who deletes a config that nothing uses. */
async function said(): Promise<string> {
  return statusOf(await installed.dryRun(config)).message ?? '';
}

test('no replica', async () => {
  await installed.cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 0 } });

  const text = quoted('no endpoints available for service "machineconfig-guard"');
  await expect.poll(said, { timeout: 20_000 }).toMatch(text);

  await installed.cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 2 } });
  await expect.poll(said, { timeout: 20_000 }).toBe('');
});

test('another authority', async () => {
  const { admin } = installed.cluster;
  const other = await createAuthority({ days: 30, now: new Date() });
  const patch = [
    { op: 'remove', path: '/metadata/annotations/service.beta.openshift.io~1inject-cabundle' },
    {
      op: 'replace',
      path: '/webhooks/0/clientConfig/caBundle',
      value: Buffer.from(other.certificatePem).toString('base64'),
    },
  ];
  const response = await admin.request('PATCH', WEBHOOK, patch, { contentType: 'application/json-patch+json' });
  expectStatus(response, [200], 'PATCH');

  const text = quoted('x509: certificate signed by unknown authority');
  await expect.poll(said, { timeout: 20_000 }).toMatch(text);
});

/** Somebody who answers in the guard's place, at an address of this machine. */
interface Impostor {
  readonly port: number;
  readonly caBundle: string;
  readonly close: () => void;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function impostor({ ipAddress, issuedAt }: { ipAddress: string; issuedAt: Date }): Promise<Impostor> {
  const authority = await createAuthority({ days: 30, now: issuedAt });
  const leaf = await issueLeaf({ authority, dnsNames: [], ipAddresses: [ipAddress], days: 1, now: issuedAt });
  const server = createTlsServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem });
  // A client that goes away is what these tests are about.
  server.on('tlsClientError', () => undefined);
  const port = await listening(server);
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  return { port, caBundle, close: () => server.close() };
}

/** Has the API server call that address instead of the guard's Service. */
async function callInstead(port: number, caBundle: string): Promise<void> {
  const url = `https://127.0.0.1:${port}/validate`;
  const patch = [
    { op: 'replace', path: '/webhooks/0/clientConfig', value: { url, caBundle } },
    { op: 'replace', path: '/webhooks/0/timeoutSeconds', value: 1 },
  ];
  const { admin } = installed.cluster;
  const response = await admin.request('PATCH', WEBHOOK, patch, { contentType: 'application/json-patch+json' });
  expectStatus(response, [200], 'PATCH');
}

const NOW = new Date();
const LAST_WEEK = new Date(Date.now() - 7 * 86_400_000);

test.each([
  {
    what: 'an expired certificate',
    ipAddress: '127.0.0.1',
    issuedAt: LAST_WEEK,
    end: 'x509: certificate has expired or is not yet valid',
  },
  {
    what: 'a certificate of another name',
    ipAddress: '10.1.2.3',
    issuedAt: NOW,
    end: 'x509: certificate is valid for …, not …',
  },
])('$what', async ({ ipAddress, issuedAt, end }) => {
  const server = await impostor({ ipAddress, issuedAt });
  await callInstead(server.port, server.caBundle);

  await expect.poll(said, { timeout: 20_000 }).toMatch(quoted(end));
  server.close();
});

test('nobody listens', async () => {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  const { caBundle, close } = await impostor({ ipAddress: '127.0.0.1', issuedAt: NOW });
  await callInstead(port, caBundle);

  await expect.poll(said, { timeout: 20_000 }).toMatch(quoted('connect: connection refused'));
  close();
});

test('nobody answers', async () => {
  const server = createServer();
  const port = await listening(server);
  const { caBundle, close } = await impostor({ ipAddress: '127.0.0.1', issuedAt: NOW });
  await callInstead(port, caBundle);

  await expect.poll(said, { timeout: 20_000 }).toMatch(quoted('context deadline exceeded'));
  server.close();
  close();
});

test('a kind that the cluster does not have', async () => {
  const object = { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata: { name: 'guard' } };

  const { stderr } = await kubectl(installed.controlPlane, ['apply', '--filename=-'], JSON.stringify(object));

  expect(stderr).toMatch(quoted('no matches for kind "…" in version "…"'));
});

test('a session of dev without the rights for it', async () => {
  const reader = await Inspector.withRights(installed.controlPlane, READ_ONLY);

  const { exitCode, stderr } = await reader.run('dev');

  expect(exitCode).toBe(3);
  expect(stderr).toMatch(
    quoted('cannot remove an earlier webhook registration at …: the API server answered 403 Forbidden'),
  );
});
