import { generateKeyPairSync } from 'node:crypto';
import forge from 'node-forge';
import { expect, test } from 'vitest';
import { checkAuthority, createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';

const now = new Date('2026-11-20T12:00:00Z');
const made = createAuthority({ days: 10, now });
const other = createAuthority({ days: 10, now });

/** One of ours with an elliptic-curve key put in its place. The signature no longer fits, which nothing here looks at. */
async function ellipticCurveAuthority(): Promise<KeyPair> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.asn1.fromDer(forge.pem.decode((await made).certificatePem)[0]!.body);
  const [signedPart] = certificate.value as forge.asn1.Asn1[];
  // version, serial, algorithm, issuer, validity, subject, subjectPublicKeyInfo
  (signedPart!.value as forge.asn1.Asn1[])[6] = forge.asn1.fromDer(publicKey.toString('latin1'));
  const body = forge.asn1.toDer(certificate).getBytes();
  return { certificatePem: forge.pem.encode({ type: 'CERTIFICATE', body }), privateKeyPem: privateKey };
}

test('one of our own is usable', async () => {
  expect(checkAuthority(await made, now)).toMatchObject({ usable: true });
});

test.each([
  ['a day before it begins', '2026-11-19T09:00:00Z', 'the authority is not valid before 2026-11-19T10:00:00.000Z'],
  ['after its end', '2026-12-01T00:00:00Z', 'the authority expired at 2026-11-30T12:00:00.000Z'],
])('%s it is not', async (_case, at, reason) => {
  expect(checkAuthority(await made, new Date(at))).toEqual({ usable: false, reason });
});

test('with the key of another it is not', async () => {
  const { certificatePem } = await made;
  const { privateKeyPem } = await other;
  const reason = 'the private key belongs to another certificate';
  expect(checkAuthority({ certificatePem, privateKeyPem }, now)).toEqual({ usable: false, reason });
});

test('a leaf is not an authority', async () => {
  const leaf = await issueLeaf({ authority: await made, dnsNames: ['guard'], ipAddresses: [], days: 1, now });
  expect(checkAuthority(leaf, now)).toEqual({ usable: false, reason: 'the certificate is not one of an authority' });
  await expect(issueLeaf({ authority: leaf, dnsNames: ['guard'], ipAddresses: [], days: 1, now })).rejects.toThrow(
    'the authority cannot issue a certificate: the certificate is not one of an authority',
  );
});

test('an elliptic-curve authority is not, since node-forge cannot sign with it', async () => {
  const reason = 'its key is ec; RSA is needed';
  expect(checkAuthority(await ellipticCurveAuthority(), now)).toEqual({ usable: false, reason });
});

test('an RSA key of 1024 bits is too short', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.serialNumber = '41';
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.validity.notAfter = new Date('2030-01-01T00:00:00Z');
  certificate.setExtensions([{ name: 'basicConstraints', critical: true, cA: true }]);
  certificate.sign(forge.pki.privateKeyFromPem(privateKey), forge.md.sha256.create());
  const pair = { certificatePem: forge.pki.certificateToPem(certificate), privateKeyPem: privateKey };
  const reason = 'its RSA key has 1024 bits; 2048 are needed';
  expect(checkAuthority(pair, now)).toEqual({ usable: false, reason });
});

test('garbage is named for what it is', async () => {
  const { certificatePem, privateKeyPem } = await made;
  const unreadable = { usable: false, reason: 'the certificate cannot be read as PEM' };
  expect(checkAuthority({ certificatePem: '', privateKeyPem }, now)).toEqual(unreadable);
  expect(checkAuthority({ certificatePem: certificatePem.slice(0, 400), privateKeyPem }, now)).toEqual(unreadable);
  const noKey = { usable: false, reason: 'the private key cannot be read as PEM' };
  expect(checkAuthority({ certificatePem, privateKeyPem: '' }, now)).toEqual(noKey);
  expect(checkAuthority({ certificatePem, privateKeyPem: certificatePem }, now)).toEqual(noKey);
});

test('an encrypted key is named as such', async () => {
  const { certificatePem } = await made;
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
  });
  const reason = 'the private key is encrypted; store it without a passphrase';
  expect(checkAuthority({ certificatePem, privateKeyPem: privateKey }, now)).toEqual({ usable: false, reason });
});
