import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { createAuthority, type Authority } from '../../../src/certificates/authority.ts';
import { generateLeafKeys, type LeafKeyGenerator, type RsaKeys } from '../../../src/certificates/rsa-keys.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import { startGuard, type Guard } from '../../../src/guard/guard.ts';
import { followAuthoritySecret } from '../../../src/certificates/authority-secret.ts';
import type { ServingCertificate } from '../../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../../support/log.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { pause, until } from '../control-plane/until.ts';
import { Cluster } from '../support/cluster.ts';
import { ownAddress } from '../support/own-address.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const ROTATIONS = 1_000;
/** A key takes half a second of a slow core. Leaves take turns with so many; none follows one with the same. */
const KEYS = 20;
const DAY_MS = 86_400_000;
const WEBHOOK = `${PATHS.webhookConfigurations}/machineconfig-guard`;

let controlPlane: ControlPlane;
let cluster: Cluster;
let authority: Authority;
let certificate: ServingCertificate;
let guard: Guard;
/** Between the API server and the guard: it counts connections, each of which is a handshake. */
let proxy: TcpProxy;
const serials = new Set<string>();
const stopping = new AbortController();

/**
 * A leaf is renewed when two thirds of its week have passed, and when it is from the future. So this clock is five days slow for
 * one leaf and right for the next: each reading finds the present leaf due, and yet each leaf is valid for the API server.
 */
let slow = false;
const clock = () => new Date(Date.now() - (slow ? 5 * DAY_MS : 0));

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { apiServer } = controlPlane;
  const nobody = { url: '', ca: '' };
  cluster = new Cluster({
    kubernetes: controlPlane.release.kubernetes,
    admin: apiServer.connection,
    auditLog: apiServer.auditLog,
    guard: nobody,
    webhook: nobody,
    metrics: nobody,
    guardLog: '',
  });
  authority = await createAuthority({ days: 30, now: new Date(Date.now() - 5 * DAY_MS) });
  await apiServer.admin.create(PATHS.namespaces, { metadata: { name: 'machineconfig-guard' } });
  await apiServer.admin.create(`${PATHS.namespaces}/machineconfig-guard/secrets`, {
    metadata: { name: 'machineconfig-guard-ca' },
    stringData: { 'ca.crt': authority.certificatePem, 'ca.key': authority.privateKeyPem },
  });
  const { log } = memoryLog();
  const api = new KubeApi(connectionFromKubeconfig(await readFile(apiServer.kubeconfig, 'utf8')));
  const secret = { namespace: 'machineconfig-guard', name: 'machineconfig-guard-ca' };
  const newKeys = await keysInTurn();
  certificate = await followAuthoritySecret({
    api,
    ...secret,
    log,
    signal: stopping.signal,
    now: clock,
    checkIntervalMs: 5,
    newKeys,
  });
  guard = await startGuard({
    api,
    certificate,
    log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
  });
  await guard.whenReady(AbortSignal.timeout(20_000));
  proxy = await TcpProxy.start(guard.ports.securePort, ownAddress());
  await publish(proxy.port);
  await apiServer.admin.create(PATHS.webhookConfigurations, registration(0));
  await until('the API server to ask the guard', async () => proxy.accepted > 0 || (await probe()), {
    timeoutMs: 20_000,
  });
}, 60_000);

afterAll(async () => {
  stopping.abort();
  await guard.stop();
  await proxy.stop();
  await controlPlane.stop();
});

async function keysInTurn(): Promise<LeafKeyGenerator> {
  const keys: RsaKeys[] = [];
  while (keys.length < KEYS) keys.push(await generateLeafKeys());
  return () => {
    const next = keys.shift() ?? expect.fail('there are no keys');
    keys.push(next);
    return Promise.resolve(next);
  };
}

/**
 * A comment in the bundle makes it another one for the API server, which then connects anew: otherwise its connections would
 * outlive all of the leaves.
 */
function registration(generation: number) {
  const caBundle = Buffer.from(`# ${generation}\n${authority.certificatePem}`).toString('base64');
  const service = { name: 'machineconfig-guard', namespace: 'machineconfig-guard', path: '/validate', port: 443 };
  return buildWebhookConfiguration({ clientConfig: { service, caBundle }, failurePolicy: 'Fail' });
}

/** The Service by whose name the leaves are issued, with this process behind it. */
async function publish(port: number): Promise<void> {
  const { admin } = controlPlane.apiServer;
  const namespace = `${PATHS.namespaces}/machineconfig-guard`;
  const metadata = { name: 'machineconfig-guard' };
  await admin.create(`${namespace}/services`, { metadata, spec: { ports: [{ name: 'webhook', port: 443 }] } });
  const addresses = [{ ip: ownAddress() }];
  const ports = [{ name: 'webhook', port }];
  await admin.create(`${namespace}/endpoints`, { metadata, subsets: [{ addresses, ports }] });
}

async function probe(): Promise<false> {
  const config = await cluster.config();
  await cluster.delete(config);
  return false;
}

test(`${ROTATIONS} leaves under steady deletions: not one call fails`, async () => {
  const load = SteadyDeletes.start(cluster, { clients: 1, pauseMs: 10 });
  await load.more(20);

  for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
    const before = certificate.current().certificatePem;
    slow = !slow;
    while (certificate.current().certificatePem === before) await pause(2);
    serials.add(new X509Certificate(certificate.current().certificatePem).serialNumber);
    const connections = proxy.accepted;
    await cluster.admin.patch(WEBHOOK, { webhooks: registration(rotation).webhooks });
    // Until it has been presented.
    while (proxy.accepted === connections) await pause(2);
  }
  await load.more(20);
  await load.stop();

  expect(load.faults).toEqual([]);
  expect(serials.size).toBe(ROTATIONS);
}, 900_000);
