import { once } from 'node:events';
import type { ConnectionOptions } from 'node:tls';
import { expect, test } from 'vitest';
import { Replaceable } from '../../src/common/replaceable.ts';
import { INTERMEDIATE, parseTlsProfile, type TlsParameters } from '../../src/serving/tls-profile.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const TLS_1_1 = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } as const;
const TLS_1_2 = { maxVersion: 'TLSv1.2' } as const;
const CUSTOM = { ciphers: ['ECDHE-RSA-AES256-GCM-SHA384'], groups: ['secp384r1'] };

/** Options of TLS 1.2 with one cipher suite, by OpenSSL's name. */
const withSuite = (ciphers: string): ConnectionOptions => ({ ciphers, ...TLS_1_2 });

async function shakeHands({ connectTls }: TestServer, options: ConnectionOptions = {}) {
  const socket = connectTls(options);
  await once(socket, 'secureConnect');
  return socket.getProtocol();
}

test.each<[object, ConnectionOptions[], ConnectionOptions[]]>([
  // Neither RSA key exchange, nor CBC with SHA-256 or SHA-1.
  [
    { type: 'Intermediate' },
    [{}, TLS_1_2],
    [TLS_1_1, ...['AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA'].map(withSuite)],
  ],
  [{ type: 'Modern' }, [{}], [TLS_1_2]],
  [{ type: 'Old' }, [{}, withSuite('AES128-SHA')], [TLS_1_1]],
  // As in Go, a choice of TLS 1.2 suites does not disable TLS 1.3.
  [
    { type: 'Custom', custom: CUSTOM },
    [{ ecdhCurve: 'X25519:secp384r1' }],
    [withSuite('ECDHE-RSA-AES128-GCM-SHA256'), { ecdhCurve: 'X25519' }],
  ],
])('follows the TLS profile %j, also after a new certificate, and keeps connections', async (profile, good, bad) => {
  const tlsPolicy = new Replaceable<TlsParameters>(INTERMEDIATE);
  const server = await startTestServer({ tlsPolicy });
  const client = server.createClient();
  await client();
  tlsPolicy.replace(parseTlsProfile({ spec: { tlsSecurityProfile: profile } }));
  for (const pair of server.pairs) {
    server.certificate.replace(pair);
    const versions = await Promise.all(good.map(async (options) => await shakeHands(server, options)));
    expect(versions).toEqual(good.map(({ maxVersion = 'TLSv1.3' }) => maxVersion));
    for (const options of bad) await expect(shakeHands(server, options)).rejects.toThrow(/.+/);
  }
  expect((await client()).isReused).toBe(true);
});

test('serves new connections with a new certificate, if it belongs to its key, and keeps the old ones', async () => {
  const { certificate, pairs, createClient } = await startTestServer();
  const client = createClient();
  const { serial } = await client();
  certificate.replace({ ...pairs[1], privateKeyPem: pairs[0].privateKeyPem });
  expect((await createClient()()).serial).toBe(serial);
  certificate.replace(pairs[1]);
  // Longer than the API server, which closes them after 90 s.
  expect(await client()).toMatchObject({ isReused: true, serial, keepAlive: 'timeout=120' });
  expect((await createClient()()).serial).not.toBe(serial);
});

test('speaks HTTP/1.1 with a client that prefers HTTP/2, such as Prometheus', async () => {
  const socket = (await startTestServer()).connectTls({ ALPNProtocols: ['h2', 'http/1.1'] });
  await once(socket, 'secureConnect');
  expect(socket.alpnProtocol).toBe('http/1.1');
});

test('does not repeat a handshake on an open connection', async () => {
  const socket = (await startTestServer()).connectTls({ maxVersion: 'TLSv1.2' });
  await once(socket, 'secureConnect');
  const outcome = new Promise((resolve) => {
    socket.once('error', resolve);
    socket.renegotiate({}, () => resolve('repeated'));
  });
  expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
});
