import { once } from 'node:events';
import { dirname } from 'node:path';
import { connect } from 'node:tls';

import { expect, onTestFinished, test } from 'vitest';

import { readForeignCrds } from '../support/foreign-crds.ts';
import { forceReconnect } from '../support/guard-service.ts';
import { PATHS } from '../support/paths.ts';
import { probeCalls } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const { guard, cluster, controlPlane } = await sharedGuardedCluster();
const { admin } = controlPlane.apiServer;
const SUITES = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA'];
const [AES_256 = ''] = SUITES;
const UNSUPPORTED = 'DES-CBC3-SHA';

/** The cipher suite of TLS 1.2 that the guard negotiates, or the code of OpenSSL. */
async function negotiate(url: string, ciphers: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ca: guard.ca, ciphers, maxVersion: 'TLSv1.2' });
  try {
    await once(socket, 'secureConnect');
    return socket.getCipher().name;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    socket.destroy();
  }
}

function createSpec(...ciphers: readonly string[]) {
  const custom = { ciphers, minTLSVersion: 'VersionTLS12' };
  return { spec: { tlsSecurityProfile: { type: 'Custom', custom } } };
}

test('no call fails while the TLS profile of the cluster changes', async () => {
  await controlPlane.installCrds(await readForeignCrds('openshift-config'));
  const type = { apiVersion: 'config.openshift.io/v1', kind: 'APIServer' };
  // The guard reads a usable profile every minute, and an unusable one every second.
  await admin.create(dirname(PATHS.apiServer), { ...type, metadata: { name: 'cluster' }, ...createSpec(UNSUPPORTED) });
  onTestFinished(async () => void (await admin.delete(PATHS.apiServer)));
  await guard.restart();

  const failedCalls = await probeCalls(cluster, async (prober) => {
    await admin.patch(PATHS.apiServer, createSpec(AES_256, UNSUPPORTED));
    const isRefused: unknown = expect.stringMatching(/^(?:ERR_SSL|ECONNRESET)/);
    const negotiateEach = () => Promise.all(SUITES.map((suite) => negotiate(guard.url, suite)));
    await expect.poll(negotiateEach).toEqual([AES_256, isRefused, isRefused]);
    expect(await negotiate(guard.metricsUrl, AES_256)).toBe(AES_256);
    await forceReconnect(controlPlane, guard, 'another profile');
    await prober.awaitRightAnswers();
  });

  expect(failedCalls).toEqual([]);
});
