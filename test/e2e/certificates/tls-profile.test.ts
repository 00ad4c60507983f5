import { once } from 'node:events';
import { connect } from 'node:tls';

import { expect, onTestFinished, test } from 'vitest';

import { forceReconnect } from '../support/guard-service.ts';
import { probeCalls } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const { guard, cluster, controlPlane } = await sharedGuardedCluster();
const { admin } = cluster;
const API_SERVERS = '/apis/config.openshift.io/v1/apiservers';
const [AES_256, AES_128] = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'];
const UNSUPPORTED = 'DES-CBC3-SHA';

/** The cipher suite of TLS 1.2 that the guard negotiates, or the code of OpenSSL. */
async function negotiate(url: string, ciphers: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ca: guard.ca, ciphers, maxVersion: 'TLSv1.2' });
  const secured = once(socket, 'secureConnect').then(() => socket.getCipher().name);
  return secured
    .catch((error: unknown) => String((error as NodeJS.ErrnoException).code))
    .finally(() => socket.destroy());
}

function createSpec(...ciphers: readonly string[]) {
  return { spec: { tlsSecurityProfile: { type: 'Custom', custom: { ciphers, minTLSVersion: 'VersionTLS12' } } } };
}

test('no call fails while the TLS profile of the cluster changes, and the port of the metrics has it, too', async () => {
  await controlPlane.installProjects('openshift-config');
  const type = { apiVersion: 'config.openshift.io/v1', kind: 'APIServer' };
  // The guard reads a usable profile every minute, and an unusable one every second.
  await admin.create(API_SERVERS, { ...type, metadata: { name: 'cluster' }, ...createSpec(UNSUPPORTED) });
  onTestFinished(async () => void (await admin.delete(API_SERVERS)));
  await guard.restart();

  const failedCalls = await probeCalls(cluster, async (prober) => {
    await admin.patch(`${API_SERVERS}/cluster`, createSpec(AES_256, UNSUPPORTED));
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
