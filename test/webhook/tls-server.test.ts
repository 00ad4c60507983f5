import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { ConnectionOptions } from 'node:tls';
import { expect, test } from 'vitest';
import { Replaceable } from '../../src/common/replaceable.ts';
import { INTERMEDIATE, parseTlsProfile, type TlsParameters } from '../../src/webhook/tls-profile.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const TLS_1_1 = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } as const;

/** Connects, and returns the negotiated version. */
async function shakeHands({ connectTls }: TestServer, options: ConnectionOptions = {}) {
  const socket = connectTls(options);
  await once(socket, 'secureConnect');
  return socket.getProtocol();
}

/** Connects with TLS 1.2 and one cipher suite, by OpenSSL's name, and returns the negotiated one. */
async function negotiate({ connectTls }: TestServer, ciphers: string) {
  const socket = connectTls({ ciphers, maxVersion: 'TLSv1.2' });
  await once(socket, 'secureConnect');
  return socket.getCipher().name;
}

test('prefers TLS 1.3, accepts 1.2, and rejects 1.1 and weak cipher suites, also after a new certificate', async () => {
  const server = await startTestServer();
  for (const pair of server.pairs) {
    server.certificate.replace(pair);
    expect(await shakeHands(server)).toBe('TLSv1.3');
    expect(await shakeHands(server, { maxVersion: 'TLSv1.2' })).toBe('TLSv1.2');
    await expect(shakeHands(server, TLS_1_1)).rejects.toThrow(/.+/);
    // RSA key exchange, CBC, and CBC with SHA-1.
    for (const ciphers of ['AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA'])
      await expect(negotiate(server, ciphers)).rejects.toThrow('handshake failure');
  }
});

test('serves new connections with a new TLS profile and keeps the old connections', async () => {
  const tlsPolicy = new Replaceable<TlsParameters>(INTERMEDIATE);
  const server = await startTestServer({ tlsPolicy });
  const setProfile = (tlsSecurityProfile: object) =>
    tlsPolicy.replace(parseTlsProfile({ spec: { tlsSecurityProfile } }));
  const client = server.createClient();
  await client();

  setProfile({ type: 'Modern' });
  for (const pair of server.pairs) {
    server.certificate.replace(pair);
    await expect(shakeHands(server, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/.+/);
    expect(await shakeHands(server)).toBe('TLSv1.3');
  }
  setProfile({ type: 'Old' });
  expect(await negotiate(server, 'AES128-SHA')).toBe('AES128-SHA');
  await expect(shakeHands(server, TLS_1_1)).rejects.toThrow(/.+/);
  setProfile({ type: 'Custom', custom: { ciphers: ['ECDHE-RSA-AES256-GCM-SHA384'], groups: ['secp384r1'] } });
  await expect(negotiate(server, 'ECDHE-RSA-AES128-GCM-SHA256')).rejects.toThrow('handshake failure');
  await expect(shakeHands(server, { ecdhCurve: 'X25519' })).rejects.toThrow('handshake failure');
  // As in Go, a choice of TLS 1.2 suites does not disable TLS 1.3.
  expect(await shakeHands(server, { ecdhCurve: 'X25519:secp384r1' })).toBe('TLSv1.3');

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

test('does not repeat a handshake on an open connection', async () => {
  const socket = (await startTestServer()).connectTls({ maxVersion: 'TLSv1.2' });
  await once(socket, 'secureConnect');
  const outcome = new Promise((resolve) => {
    socket.once('error', resolve);
    socket.renegotiate({}, () => resolve('repeated'));
  });
  expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
});

test.concurrent('answers 408 to headers that do not end', async ({ onTestFinished }) => {
  const socket = (await startTestServer({}, onTestFinished)).connectTls();
  socket.write('POST / HTTP/1.1\r\nHost: x\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 Request Timeout/);
});

test.concurrent('closes a connection whose handshake does not end', async ({ onTestFinished }) => {
  const socket = (await startTestServer({}, onTestFinished)).connectTcp();
  // The first bytes of a ClientHello.
  socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
  await expect(text(socket).catch(() => '')).resolves.toBe('');
});
