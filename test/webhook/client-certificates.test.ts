import type { ConnectionOptions } from 'node:tls';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import { issueClientCertificate } from '../support/client-certificate.ts';
import { memoryLog } from '../support/log.ts';
import { startTestServer, type TestServer } from './test-server.ts';

const DAY_MS = 86_400_000;
const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
const now = new Date();
let authority: Authority;
let other: Authority;

beforeAll(async () => {
  // The second names an authority. That of the serving certificates must differ, too.
  [authority, other] = (await Promise.all(
    [60_000, 120_000].map(async (ms) => {
      return await createAuthority({ days: 1, now: new Date(now.getTime() + ms) });
    }),
  )) as [Authority, Authority];
});

function followed(first: string) {
  let pem = first;
  const listeners: (() => void)[] = [];
  return {
    current: () => pem,
    onChange: (listener: () => void) => void listeners.push(listener),
    replace: (next: string) => {
      pem = next;
      for (const listener of listeners) listener();
    },
  };
}

/** Sends a request and returns all that the server answers, empty if it ends the connection before. */
async function send({ connectTls }: TestServer, options: ConnectionOptions): Promise<string> {
  const socket = connectTls(options).on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return await text(socket).catch(() => '');
}

test.each<[string, string, () => Promise<ConnectionOptions>]>([
  ['without a certificate', 'NO_CERTIFICATE', async () => await Promise.resolve({})],
  [
    'whose certificate is of another authority',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    async () => await issueClientCertificate(other),
  ],
  [
    'with a serving certificate of the authority',
    'INVALID_PURPOSE',
    async () => await issueClientCertificate(authority, { usage: 'serverAuth' }),
  ],
  [
    'whose certificate has expired',
    'CERT_HAS_EXPIRED',
    async () => await issueClientCertificate(authority, { now: new Date(now.getTime() - 2 * DAY_MS) }),
  ],
])('a client %s gets no answer and causes one warning', async (_case, reason, options) => {
  const { log, lines } = memoryLog();
  const server = await startTestServer({ clientAuthority: followed(authority.certificatePem), log });
  for (const maxVersion of VERSIONS)
    expect(await send(server, { ...(await options()), maxVersion })).toBe('');
  const warnings = lines.filter(({ level }) => level === 40);
  expect(warnings).toEqual([
    expect.objectContaining({ reason, msg: 'rejected a client without a valid certificate' }),
  ]);
});

test('clients of the authority get answers, and of the next authority once it has changed', async () => {
  const clientAuthority = followed(authority.certificatePem);
  const server = await startTestServer({ clientAuthority });
  const [first, second] = [await issueClientCertificate(authority), await issueClientCertificate(other)];
  for (const maxVersion of VERSIONS)
    expect(await send(server, { ...first, maxVersion })).toMatch(/^HTTP\/1\.1 200 /);
  server.certificate.exchange(server.pairs[1]);
  expect([await send(server, first), await send(server, {})]).toEqual([
    expect.stringMatching(/ 200 OK/),
    '',
  ]);

  clientAuthority.replace(authority.certificatePem + other.certificatePem);
  expect(await send(server, first)).toMatch(/ 200 OK/);
  expect(await send(server, second)).toMatch(/ 200 OK/);
  clientAuthority.replace(other.certificatePem);
  expect(await send(server, first)).toBe('');
  expect(await send(server, second)).toMatch(/ 200 OK/);
});

test('a TLS session of an earlier authority cannot be resumed', async () => {
  const clientAuthority = followed(authority.certificatePem);
  const server = await startTestServer({ clientAuthority });
  const client = await issueClientCertificate(authority);
  for (const maxVersion of VERSIONS) {
    clientAuthority.replace(authority.certificatePem);
    const socket = server.connectTls({ ...client, maxVersion });
    const session = await new Promise<Buffer>((resolve) => socket.once('session', resolve));
    expect(await send(server, { ...client, maxVersion, session })).toMatch(/ 200 OK/);
    clientAuthority.replace(other.certificatePem);
    expect(await send(server, { ...client, maxVersion, session })).toBe('');
  }
});
