import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, type SecureVersion } from 'node:tls';

import { expect, onTestFinished, test } from 'vitest';

import { readForeignCrds } from '../support/foreign-crds.ts';
import { parseJsonLines } from '../support/guard-process.ts';
import { PATHS } from '../support/paths.ts';
import { probeCalls } from '../support/prober.ts';
import { forceReconnect } from '../support/guard-service.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const { guard, cluster, controlPlane } = await sharedGuardedCluster();
const { admin } = controlPlane.apiServer;
const [AES_256, AES_128] = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'];
const AES_128_CBC = 'AES128-SHA';

/** The cipher suite that the guard negotiates, or the code of OpenSSL. */
async function negotiate(url: string, ciphers: string, maxVersion: SecureVersion = 'TLSv1.2'): Promise<string> {
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

const UNUSABLE = { type: 'Custom', custom: { ciphers: ['DES-CBC3-SHA'], minTLSVersion: 'VersionTLS12' } };
/** Removes what the profile before it has set. */
const OTHERS = { old: null, modern: null, intermediate: null, custom: null };

const SUITES = [AES_256, AES_128, AES_128_CBC];

/** A profile, and which of the suites TLS 1.2 negotiates under it. With Intermediate it is all but the last. */
const PROFILES = [
  { profile: { type: 'Modern', modern: {} }, accepted: [] as string[] },
  { profile: { type: 'Old', old: {} }, accepted: SUITES },
  {
    profile: {
      type: 'Custom',
      custom: { ciphers: [AES_256, 'DES-CBC3-SHA'], minTLSVersion: 'VersionTLS11' },
    },
    accepted: [AES_256],
  },
];

const setProfile = (profile: object) =>
  admin.patch(PATHS.apiServer, { spec: { tlsSecurityProfile: { ...OTHERS, ...profile } } });

/** The warnings of the guard about TLS profiles, each once. */
async function readWarnings(): Promise<string[]> {
  const lines = parseJsonLines<{ readonly level: string; readonly msg: string }>(await readFile(guard.log, 'utf8'));
  const warnings = lines.filter(({ level, msg }) => level === 'warn' && msg.includes('TLS profile'));
  return [...new Set(warnings.map(({ msg }) => msg))];
}

test('no call fails while the TLS profile of the cluster changes', async () => {
  await controlPlane.installCrds(await readForeignCrds('openshift-config'));
  await admin.create(PATHS.apiServer.replace(/\/cluster$/, ''), {
    apiVersion: 'config.openshift.io/v1',
    kind: 'APIServer',
    metadata: { name: 'cluster' },
    spec: {},
  });
  onTestFinished(async () => {
    await admin.delete(PATHS.apiServer);
  });

  for (const { profile, accepted } of PROFILES) {
    // The guard reads a usable profile every minute, and an unusable one every second.
    await setProfile(UNUSABLE);
    await guard.restart();
    const failedCalls = await probeCalls(cluster.admin, async (prober) => {
      await setProfile(profile);
      const isRefused: unknown = expect.stringMatching(/^(?:ERR_SSL|ECONNRESET)/);
      const expected = SUITES.map((suite) => (accepted.includes(suite) ? suite : isRefused));
      const negotiateEach = () => Promise.all(SUITES.map((suite) => negotiate(guard.url, suite)));
      await expect.poll(negotiateEach).toEqual(expected);
      expect(await negotiate(guard.metricsUrl, AES_256)).toEqual(expected[0]);
      await forceReconnect(controlPlane, guard, `profile ${profile.type}`);
      await prober.awaitRightAnswers();
    });
    expect(failedCalls).toEqual([]);
  }
  expect(await readWarnings()).toEqual([
    'the TLS profile Custom names no cipher suite that Node.js supports',
    expect.stringMatching(/^TLS profile Custom: TLS 1\.2 and later with 4 cipher suites, without "DES-CBC3-SHA"/),
  ]);
});
