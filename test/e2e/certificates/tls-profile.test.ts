import { once } from 'node:events';
import { connect, type SecureVersion } from 'node:tls';

import { expect, test } from 'vitest';

import { readForeignCrds } from '../support/foreign-crds.ts';
import { readJsonLines } from '../support/guard-process.ts';
import { PATHS } from '../support/paths.ts';
import { probeDuring } from '../support/prober.ts';
import { forceReconnect } from '../support/reconnect.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const { guard, connection, controlPlane } = await sharedGuardedCluster();
const { admin } = controlPlane.apiServer;
const [AES_256, AES_128] = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'];

/** The cipher suite that the guard negotiates, or the code of OpenSSL. */
async function negotiate(
  url: string,
  ciphers: string,
  maxVersion: SecureVersion = 'TLSv1.2',
): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), ca: guard.ca, ciphers, maxVersion });
  try {
    await once(socket, 'secureConnect');
    return socket.getCipher().name;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    socket.destroy();
  }
}

/** A profile, and what TLS 1.2 negotiates with two suites under it. The guard reads the profile every minute. */
const SWITCHES = [
  { profile: { type: 'Old', old: {} }, negotiated: [AES_256, 'AES128-SHA'] },
  {
    profile: {
      type: 'Custom',
      custom: { ciphers: [AES_256, 'DES-CBC3-SHA'], minTLSVersion: 'VersionTLS11' },
    },
    negotiated: [AES_256, undefined],
  },
] as const;
const FOLLOWED = { timeout: 90_000, interval: 500 };

test('no call fails while the TLS profile of the cluster changes', async () => {
  await controlPlane.installCrds(await readForeignCrds('openshift-config'));
  const metadata = { name: 'cluster' };
  await admin.create(PATHS.apiServer.replace(/\/cluster$/, ''), {
    apiVersion: 'config.openshift.io/v1',
    kind: 'APIServer',
    metadata,
    spec: {},
  });

  const { faults } = await probeDuring(connection.admin, async (prober) => {
    for (const [index, { profile, negotiated }] of SWITCHES.entries()) {
      const others = { old: null, modern: null, intermediate: null, custom: null };
      await admin.patch(PATHS.apiServer, { spec: { tlsSecurityProfile: { ...others, ...profile } } });
      const readNegotiated = async () =>
        await Promise.all([negotiate(guard.url, AES_256), negotiate(guard.url, 'AES128-SHA')]);
      const isRefused: unknown = expect.stringMatching(/^(?:ERR_SSL|ECONNRESET)/);
      const expected = negotiated.map((suite) => suite ?? isRefused);
      await expect.poll(readNegotiated, FOLLOWED).toEqual(expected);
      expect(await negotiate(guard.metricsUrl, AES_256)).toEqual(expected[0]);
      await forceReconnect(controlPlane, guard, `profile ${index}`);
      await prober.awaitMore(5);
    }
  });

  expect(faults).toEqual([]);
  const warnings = (await readJsonLines<{ readonly level: string; readonly msg: string }>(guard.log))
    .filter(({ level }) => level === 'warn')
    .map(({ msg }) => msg)
    .filter((msg) => msg.includes('DES-CBC3-SHA'));
  expect(warnings).toEqual([
    expect.stringMatching(
      /^TLS profile Custom: TLS 1\.2 and later with 4 cipher suites, without "DES-CBC3-SHA"/,
    ),
  ]);
  // Without the object, Intermediate applies.
  await admin.delete(PATHS.apiServer);
  await expect.poll(() => negotiate(guard.url, AES_128), FOLLOWED).toBe(AES_128);
}, 360_000);
