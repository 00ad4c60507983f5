import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { beforeAll, expect, test } from 'vitest';
import { type Authority, checkAuthority, createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { requestedBits } from '../support/stored-keys.ts';

const now = new Date('2026-11-20T12:00:00.789Z');
const HOUR_MS = 3_600_000;
let authority: Authority;
let other: Authority;

beforeAll(async () => {
  requestedBits.length = 0;
  const times = [now, new Date(now.getTime() + 1_000)];
  const authorities = await Promise.all(times.map(async (time) => await createAuthority({ days: 3650, now: time })));
  [authority, other] = authorities as [Authority, Authority];
});

/** Puts other keys into the authority. The signature is then wrong, which the check ignores. */
function replaceKeys({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }): Authority {
  const certificate = forge.asn1.fromDer(forge.pem.decode(authority.certificatePem)[0]!.body);
  const [tbsCertificate] = certificate.value as forge.asn1.Asn1[];
  const publicKeyDer = publicKey.export({ type: 'spki', format: 'der' }).toString('latin1');
  // version, serial, algorithm, issuer, validity, subject, subjectPublicKeyInfo
  (tbsCertificate!.value as forge.asn1.Asn1[])[6] = forge.asn1.fromDer(publicKeyDer);
  return {
    certificatePem: forge.pem.encode({ type: 'CERTIFICATE', body: forge.asn1.toDer(certificate).getBytes() }),
    privateKeyPem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

function encryptKey() {
  const encryption = { cipher: 'aes-256-cbc', passphrase: 'x' };
  return String(createPrivateKey(authority.privateKeyPem).export({ type: 'pkcs8', format: 'pem', ...encryption }));
}

test('creates a v3 root of its own subject that signs leaves only, with a 3072-bit key and SHA-256', () => {
  const certificate = new X509Certificate(authority.certificatePem);
  const der = certificate.raw.toString('hex');
  expect(der).toContain('a003020102');
  // sha256WithRSAEncryption in the signed part and beside the signature.
  expect(der.split('06092a864886f70d01010b')).toHaveLength(3);
  // Critical basicConstraints { TRUE, 0 } and keyUsage { keyCertSign, cRLSign }, then subjectKeyIdentifier.
  expect(der).toContain('0603551d130101ff040830060101ff020100');
  expect(der).toContain('0603551d0f0101ff040403020106');
  expect(der).toContain('0603551d0e0416');
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(requestedBits).toEqual([3072, 3072]);
  expect(certificate.subject).not.toBe(new X509Certificate(other.certificatePem).subject);
  expect(authority.certificatePem + authority.privateKeyPem).not.toContain('\r');
});

test.each([
  ['on a host whose clock is 12 hours behind', -12, undefined],
  ['before it begins', -27, 'the authority is not valid before 2026-11-19T10:00:00.000Z'],
  ['after its end', 3650 * 24 + 1, 'the authority expired at 2036-11-17T12:00:00.000Z'],
])('checks an authority %s', (_case, hours, reason) => {
  const check = checkAuthority(authority, new Date(now.getTime() + hours * HOUR_MS));
  expect(check).toMatchObject(reason === undefined ? { usable: true } : { usable: false, reason });
});

test.each<[string, () => Partial<Authority>]>([
  ['the certificate cannot be read as PEM', () => ({ certificatePem: '' })],
  ['the private key cannot be read as PEM', () => ({ privateKeyPem: '' })],
  ['the private key belongs to another certificate', () => ({ privateKeyPem: other.privateKeyPem })],
  ['the private key is encrypted; store it without a passphrase', () => ({ privateKeyPem: encryptKey() })],
  ['its key is ec; RSA is needed', () => replaceKeys(generateKeyPairSync('ec', { namedCurve: 'P-256' }))],
  [
    'its RSA key has 1024 bits; 2048 are needed',
    () => replaceKeys(generateKeyPairSync('rsa', { modulusLength: 1024 })),
  ],
])('rejects an authority: %s', (reason, change) => {
  expect(checkAuthority({ ...authority, ...change() }, now)).toEqual({ usable: false, reason });
});

test('rejects a leaf as an authority', async () => {
  const options = { dnsNames: ['guard'], ipAddresses: [], days: 1, now };
  const leaf = await issueLeaf({ authority, ...options });
  const reason = 'the certificate is not one of an authority';
  expect(checkAuthority(leaf, now)).toEqual({ usable: false, reason });
  await expect(issueLeaf({ authority: leaf, ...options })).rejects.toThrow(
    `the authority cannot issue a certificate: ${reason}`,
  );
});
