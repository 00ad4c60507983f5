import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { issueLeaf } from '../../../src/certificates/authority.ts';
import { forceReconnect, SERVICE_NAME } from '../support/guard-processes.ts';
import { probeCalls } from '../support/prober.ts';
import { IS_LONG } from '../support/runner.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const ROTATIONS = IS_LONG ? 200 : 8;
const API_SERVERS = '/apis/config.openshift.io/v1/apiservers';
const [AES_256, AES_128] = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'];
const UNSUPPORTED = 'DES-CBC3-SHA';

const { guard, cluster, controlPlane, serviceCa } = await sharedGuardedCluster();
const { admin } = cluster;

/** Writes a new certificate and key, and returns the serial number. */
async function rotateLeaf(): Promise<string> {
  const authority = await serviceCa.getAuthority();
  const names = { dnsNames: [SERVICE_NAME], ipAddresses: ['127.0.0.1'] };
  const leaf = await issueLeaf({ authority, ...names, days: 7, now: new Date() });
  const files = { 'tls.key': leaf.privateKeyPem, 'tls.crt': leaf.certificatePem };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(guard.certDir, `${name}.new`), text);
    await rename(join(guard.certDir, `${name}.new`), join(guard.certDir, name));
  }
  return new X509Certificate(leaf.certificatePem).serialNumber;
}

async function handshake<Value>(url: string, read: (socket: TLSSocket) => Value, options: ConnectionOptions = {}) {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ca: guard.ca, ...options });
  const secured = once(socket, 'secureConnect').then(() => read(socket));
  return secured.finally(() => socket.destroy());
}

const readServedSerial = () => handshake(guard.url, (socket) => socket.getPeerX509Certificate()?.serialNumber);

/** The cipher suite of TLS 1.2 that the guard negotiates, or the code of OpenSSL. */
function negotiate(url: string, ciphers: string): Promise<string> {
  const name = handshake(url, (socket) => socket.getCipher().name, { ciphers, maxVersion: 'TLSv1.2' });
  return name.catch((error: unknown) => String((error as NodeJS.ErrnoException).code));
}

function createProfile(...ciphers: readonly string[]) {
  return { spec: { tlsSecurityProfile: { type: 'Custom', custom: { ciphers, minTLSVersion: 'VersionTLS12' } } } };
}

test(`no call fails during ${ROTATIONS} rotations of the leaf`, async () => {
  const failedCalls = await probeCalls(cluster, async (prober) => {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      const serial = await rotateLeaf();
      await expect.poll(readServedSerial).toBe(serial);
      await forceReconnect(controlPlane, guard, `rotation ${rotation}`);
      await prober.awaitRightAnswers();
    }
  });

  expect(failedCalls).toEqual([]);
}, 1_800_000);

test('no call fails while the TLS profile of the cluster changes, which the metrics also have', async () => {
  await controlPlane.installProjects('openshift-config');
  const type = { apiVersion: 'config.openshift.io/v1', kind: 'APIServer' };
  // The guard reads a usable profile every minute, and an unusable one every second.
  await admin.create(API_SERVERS, { ...type, metadata: { name: 'cluster' }, ...createProfile(UNSUPPORTED) });
  onTestFinished(async () => void (await admin.delete(API_SERVERS)));
  await guard.restart();

  const failedCalls = await probeCalls(cluster, async (prober) => {
    await admin.patch(`${API_SERVERS}/cluster`, createProfile(AES_256, UNSUPPORTED));
    const refused: unknown = expect.stringMatching(/^(?:ERR_SSL|ECONNRESET)/);
    for (const url of [guard.url, guard.metricsUrl]) {
      const negotiateBoth = () => Promise.all([negotiate(url, AES_256), negotiate(url, AES_128)]);
      await expect.poll(negotiateBoth).toEqual([AES_256, refused]);
    }
    await forceReconnect(controlPlane, guard, 'another profile');
    await prober.awaitRightAnswers();
  });

  expect(failedCalls).toEqual([]);
});
