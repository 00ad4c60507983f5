import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { afterAll, expect, test } from 'vitest';

import { createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { kubectl } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const PAGE = readFileSync(new URL('../../../docs/troubleshooting.md', import.meta.url), 'utf8');
const CALL_FAILED = 'failed calling webhook "guard.machineconfig-guard.io"';
const NOW = new Date();
const LAST_WEEK = new Date(NOW.getTime() - 7 * 86_400_000);
const { certificatePem: UNRELATED_CA } = await createAuthority({ days: 30, now: NOW });

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const config = await cluster.config();
await cluster.node();
const servers: Server[] = [];

afterAll(async () => {
  for (const server of servers) server.close();
  await cluster.admin.delete(PATHS.guardWebhook);
  await installed.applyOverlay('monitoring');
  await installed.awaitGuard();
});

/** Finds a text in the headings of docs/troubleshooting.md, in which `…` is any text. */
function headingPattern(end: string): RegExp {
  const headings = [...PAGE.matchAll(/^### `(.*)`$/gm)];
  const texts = headings.flatMap(([, heading = '']) => heading.split('`, `'));
  const text = texts.find((one) => one.endsWith(end)) ?? expect.fail(`no heading ${end}`);
  const parts = text.split('…').map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('.*'));
}

async function readMessage(): Promise<string> {
  return statusOf(await cluster.dryRun(config)).message ?? '';
}

/** Makes the API server call a port of this machine instead of the guard. */
async function callInstead(port: number, certificatePem: string): Promise<void> {
  const clientConfig = {
    url: `https://127.0.0.1:${port}/validate`,
    caBundle: Buffer.from(certificatePem).toString('base64'),
  };
  await cluster.admin.patch(PATHS.guardWebhook, [
    { op: 'replace', path: '/webhooks/0/clientConfig', value: clientConfig },
    { op: 'replace', path: '/webhooks/0/timeoutSeconds', value: 1 },
  ]);
}

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function startTlsServer(ipAddress: string, issuedAt: Date) {
  const authority = await createAuthority({ days: 30, now: issuedAt });
  const names = { dnsNames: [], ipAddresses: [ipAddress] };
  const leaf = await issueLeaf({ authority, ...names, days: 1, now: issuedAt });
  const server = createTlsServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem });
  server.on('tlsClientError', () => undefined);
  return { port: await listen(server), ca: authority.certificatePem };
}

test('the page has the messages for no replica and for no Service', async () => {
  await installed.replicas.kill();

  const message = headingPattern('no endpoints available for service "machineconfig-guard"');
  await expect.poll(readMessage).toMatch(message);
  await cluster.admin.delete(`${PATHS.guardNamespace}/services/machineconfig-guard`);
  const notFound = headingPattern('service "machineconfig-guard" not found');
  await expect.poll(readMessage).toMatch(notFound);

  await installed.applyOverlay('monitoring');
  await installed.replicas.awaitRollout();
  await expect.poll(readMessage).toBe('');
});

const withUnrelatedCa = async (port: Promise<number>) => ({ port: await port, ca: UNRELATED_CA });

test.for<[problem: string, end: string, start: () => Promise<{ port: number; ca: string }>]>([
  [
    'the authority is unknown',
    'x509: certificate signed by unknown authority',
    () => withUnrelatedCa(startTlsServer('127.0.0.1', NOW).then(({ port }) => port)),
  ],
  [
    'the certificate has expired',
    'x509: certificate has expired or is not yet valid',
    () => startTlsServer('127.0.0.1', LAST_WEEK),
  ],
  [
    'the certificate has another name',
    'x509: certificate is valid for …, not …',
    () => startTlsServer('10.1.2.3', NOW),
  ],
  ['the port is closed', 'connect: connection refused', () => withUnrelatedCa(Promise.resolve(1))],
  ['the server does not answer', 'context deadline exceeded', () => withUnrelatedCa(listen(createServer()))],
])('the page has the message when %s', async ([, end, start]) => {
  const { port, ca } = await start();
  await callInstead(port, ca);

  await expect.poll(readMessage).toMatch(headingPattern(end));
  expect(await readMessage()).toContain(CALL_FAILED);
});

test('the page has the message of kubectl when the cluster lacks a kind', async () => {
  const object = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
  };

  const apply = ['apply', '--filename=-'];
  const { stderr } = await kubectl(controlPlane, apply, JSON.stringify(object));

  expect(stderr).toMatch(headingPattern('no matches for kind "…" in version "…"'));
});
