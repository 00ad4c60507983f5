import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { checkAuthority, createAuthority } from '../../src/certificates/authority.ts';
import { readValidity } from '../../src/certificates/renewal.ts';
import { extensionOf, readCertificate } from './der.ts';

const now = new Date('2026-11-20T12:00:00.789Z');
const made = createAuthority({ days: 3650, now });

test('it is a v3 root, SHA-256 with RSA, that signs leaves and nothing below them', async () => {
  const { certificatePem } = await made;
  const der = readCertificate(certificatePem);
  expect(der.version).toBe(3);
  expect(der.signatureAlgorithms).toEqual(['sha256WithRSAEncryption', 'sha256WithRSAEncryption']);
  // SEQUENCE { TRUE, 0 }; BIT STRING keyCertSign + cRLSign, one bit unused.
  expect(extensionOf(der, '2.5.29.19')).toEqual({ critical: true, hex: '30060101ff020100' });
  expect(extensionOf(der, '2.5.29.15')).toEqual({ critical: true, hex: '03020106' });
  expect(extensionOf(der, '2.5.29.14')?.critical).toBe(false);
  const certificate = new X509Certificate(certificatePem);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(3072);
});

test('it begins 26 hours early for clocks that are off, and ends on time', async () => {
  const { notBefore, notAfter } = readValidity(new X509Certificate((await made).certificatePem));
  expect(notBefore.toISOString()).toBe('2026-11-19T10:00:00.000Z');
  expect(notAfter.toISOString()).toBe('2036-11-17T12:00:00.000Z');
});

test('a host whose clock is 12 hours behind can use it at once', async () => {
  expect(checkAuthority(await made, new Date(now.getTime() - 12 * 3_600_000)).usable).toBe(true);
});

test('a life that crosses 2050 is written in the other date format', async () => {
  const { certificatePem } = await createAuthority({ days: 3650, now: new Date('2045-01-01T00:00:00Z') });
  expect(readValidity(new X509Certificate(certificatePem)).notAfter.toISOString()).toBe('2054-12-30T00:00:00.000Z');
});

test('two authorities have different subjects unless named alike', async () => {
  const later = await createAuthority({ days: 1, now: new Date(now.getTime() + 1000) });
  expect(new X509Certificate(later.certificatePem).subject).not.toBe(
    new X509Certificate((await made).certificatePem).subject,
  );
});

test.each(['Zoë', 'a@b', 'a_b', '', 'x'.repeat(65), 'a\nb', 'ünïcode'])(
  'the common name %j, which Go would choke on, is refused',
  async (commonName) => {
    await expect(createAuthority({ commonName, days: 1, now })).rejects.toThrow(RangeError);
  },
);

test.each([0, -1, 1.5, Number.NaN, Infinity, 3651])('%s days are refused', async (days) => {
  await expect(createAuthority({ days, now })).rejects.toThrow(/whole number of days from 1 to 3650/);
});

test('the private key is PKCS#8 with plain line ends', async () => {
  const { certificatePem, privateKeyPem } = await made;
  expect(privateKeyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect(certificatePem + privateKeyPem).not.toContain('\r');
});
