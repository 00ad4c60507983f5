import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP, type AddressInfo } from 'node:net';
import { checkServerIdentity, connect, createServer } from 'node:tls';
import { expect, test } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import { readValidity } from '../../src/certificates/renewal.ts';
import { extensionOf, readCertificate } from './der.ts';

const now = new Date();
const SERVICE = 'machineconfig-guard.machineconfig-guard.svc';
const authority = createAuthority({ days: 30, now });

async function leafFor(dnsNames: string[], ipAddresses: string[] = [], days = 7): Promise<KeyPair> {
  return await issueLeaf({ authority: await authority, dnsNames, ipAddresses, days, now });
}

test('it is a v3 end certificate for servers, SHA-256 with RSA', async () => {
  const { certificatePem } = await leafFor([SERVICE]);
  const der = readCertificate(certificatePem);
  expect(der.version).toBe(3);
  expect(der.signatureAlgorithms).toEqual(['sha256WithRSAEncryption', 'sha256WithRSAEncryption']);
  // SEQUENCE {}: CA is false by default; BIT STRING digitalSignature + keyEncipherment; EKU serverAuth alone.
  expect(extensionOf(der, '2.5.29.19')).toEqual({ critical: true, hex: '3000' });
  expect(extensionOf(der, '2.5.29.15')).toEqual({ critical: true, hex: '030205a0' });
  expect(extensionOf(der, '2.5.29.37')).toEqual({ critical: false, hex: '300a06082b06010505070301' });
});

test('it names the key that signed it', async () => {
  const { certificatePem } = await leafFor([SERVICE]);
  const authorityKey = extensionOf(readCertificate((await authority).certificatePem), '2.5.29.14');
  const signer = extensionOf(readCertificate(certificatePem), '2.5.29.35');
  // OCTET STRING { 20 bytes } in the one, SEQUENCE { [0] 20 bytes } in the other.
  expect(signer?.hex).toBe(`30168014${authorityKey?.hex.slice('0414'.length)}`);
});

test('a client that trusts the authority accepts the service name, IPv4 and IPv6, and nothing else', async () => {
  const { certificatePem, privateKeyPem } = await leafFor([SERVICE], ['192.0.2.10', '2001:db8::10']);
  const server = createServer({ cert: certificatePem, key: privateKeyPem }, (socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ca = (await authority).certificatePem;
  const answerFor = async (name: string): Promise<string> => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      ca,
      servername: isIP(name) === 0 ? name : '',
      // By default the name checked is the one connected to, which here is always the loopback.
      checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
    });
    try {
      await once(socket, 'secureConnect');
      return 'accepted';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    } finally {
      socket.destroy();
    }
  };
  expect(await answerFor(SERVICE)).toBe('accepted');
  expect(await answerFor('192.0.2.10')).toBe('accepted');
  expect(await answerFor('2001:db8::10')).toBe('accepted');
  expect(await answerFor('other.machineconfig-guard.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await answerFor('192.0.2.11')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  server.close();
});

test('every spelling of an IPv6 address is encoded right', async () => {
  const spellings = [
    '::',
    '::1',
    '1::',
    'fe80::',
    '::2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::',
    '1:2:3:4:5:6:7:8',
    '2001:DB8::A',
  ];
  const { certificatePem } = await leafFor([], [...spellings, '::ffff:192.0.2.1', '64:ff9b::192.0.2.33', '10.0.0.1']);
  const certificate = new X509Certificate(certificatePem);
  for (const address of spellings) expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.subjectAltName?.split(', ')).toEqual(
    [
      '0:0:0:0:0:0:0:0',
      '0:0:0:0:0:0:0:1',
      '1:0:0:0:0:0:0:0',
      'FE80:0:0:0:0:0:0:0',
      '0:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7:0',
      '1:2:3:4:5:6:7:8',
      '2001:DB8:0:0:0:0:0:A',
      '0:0:0:0:0:FFFF:C000:201',
      '64:FF9B:0:0:0:0:C000:221',
      '10.0.0.1',
    ].map((address) => `IP Address:${address}`),
  );
});

test('the longest DNS name there can be is served', async () => {
  const name = [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.');
  expect(name).toHaveLength(253);
  expect(new X509Certificate((await leafFor([name])).certificatePem).checkHost(name)).toBe(name);
});

test('it never lives outside the life of its authority', async () => {
  const short = await createAuthority({ days: 3, now });
  const later = new Date(now.getTime() + 86_400_000);
  const leaf = await issueLeaf({ authority: short, dnsNames: [SERVICE], ipAddresses: [], days: 365, now: later });
  const own = readValidity(new X509Certificate(leaf.certificatePem));
  const its = readValidity(new X509Certificate(short.certificatePem));
  expect(own.notAfter).toEqual(its.notAfter);
  expect(own.notBefore.getTime()).toBeGreaterThanOrEqual(its.notBefore.getTime());
});

test('no name at all is refused', async () => {
  await expect(leafFor([], [])).rejects.toThrow('a serving certificate needs at least one DNS name or IP address');
});
