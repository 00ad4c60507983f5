import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { beforeEach, expect, test } from 'vitest';
import { type Authority, createAuthority, issueLeaf, parseAuthority } from '../../src/certificates/authority.ts';
import { findRenewalReason, readValidity } from '../../src/certificates/key-pair.ts';
import { generateRsaKeys, generateSerial } from '../../src/certificates/sign-certificate.ts';
import { requestedBits } from '../support/stored-keys.ts';

const now = new Date('2026-11-20T12:00:00.789Z');
const HOUR_MS = 3_600_000;
const SERVICE = 'machineconfig-guard.machineconfig-guard.svc';
let authority: Authority;
let other: Authority;

beforeEach(async () => {
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
  // The clocks of hosts can be 26 hours apart.
  const validity = { notBefore: new Date('2026-11-19T10:00:00Z'), notAfter: new Date('2036-11-17T12:00:00Z') };
  expect(readValidity(certificate)).toEqual(validity);
  expect(requestedBits).toEqual([3072, 3072]);
  const subjects = [authority, other].map(({ certificatePem }) => new X509Certificate(certificatePem).subject);
  expect(subjects).toEqual(['CN=machineconfig-guard-ca-1795176000', 'CN=machineconfig-guard-ca-1795176001']);
  expect(authority.certificatePem + authority.privateKeyPem).not.toContain('\r');
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
  expect(() => parseAuthority({ ...authority, ...change() }, now)).toThrow(reason);
});

test('rejects a leaf as an authority', async () => {
  const leaf = await issue([SERVICE]);
  expect(() => parseAuthority(leaf, now)).toThrow('the certificate is not one of an authority');
});

async function issue(dnsNames: string[], ipAddresses: string[] = [], signer = authority) {
  return await issueLeaf({ authority: signer, dnsNames, ipAddresses, days: 7, now });
}

test('a leaf is valid for its names and addresses and no others', async () => {
  const names = [SERVICE, [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.')];
  const addresses = ['192.0.2.10', '2001:DB8::A', '::2:3:4:5:6:7:8', '::ffff:192.0.2.1'];
  const leaf = new X509Certificate((await issue(names, addresses)).certificatePem);
  expect(leaf.verify(new X509Certificate(authority.certificatePem).publicKey)).toBe(true);
  expect([...names, `x-${SERVICE}`].map((name) => leaf.checkHost(name))).toEqual([...names, undefined]);
  expect([...addresses, '192.0.2.11'].map((ip) => leaf.checkIP(ip))).toEqual([...addresses, undefined]);
});

test('a leaf signs nothing, and names the key of its authority as that does', async () => {
  // The other keys are not those from which the subjectKeyIdentifier was derived.
  const privateKey = createPrivateKey(other.privateKeyPem);
  const replaced = replaceKeys({ publicKey: createPublicKey(privateKey), privateKey });
  const leaf = new X509Certificate((await issue([SERVICE], [], replaced)).certificatePem);
  expect(leaf.subject).toBe('CN=machineconfig-guard');
  const der = leaf.raw.toString('hex');
  // Critical basicConstraints {}, keyUsage { digitalSignature, keyEncipherment } and extKeyUsage { serverAuth }.
  expect(der).toContain('0603551d130101ff04023000');
  expect(der).toContain('0603551d0f0101ff0404030205a0');
  expect(der).toContain('0603551d25040c300a06082b06010505070301');
  const [, keyIdentifier] =
    /0603551d0e04160414(.{40})/.exec(new X509Certificate(authority.certificatePem).raw.toString('hex')) ?? [];
  expect(der).toContain(`0603551d23041830168014${keyIdentifier}`);
});

test('issues no leaf in which node-forge has encoded a name wrongly', async () => {
  const message = 'the certificate just made cannot be verified for ä.example.com, ö.example.com';
  await expect(issue([SERVICE, 'ä.example.com', 'ö.example.com'])).rejects.toThrow(message);
});

test('generates RSA keys of the requested size, as SPKI and PKCS#8', async () => {
  const { publicKeyPem, privateKeyPem } = await generateRsaKeys(1_024);
  expect([publicKeyPem, privateKeyPem].map((pem) => pem.split('\n')[0])).toEqual([
    '-----BEGIN PUBLIC KEY-----',
    '-----BEGIN PRIVATE KEY-----',
  ]);
  const key = createPrivateKey(privateKeyPem);
  expect(key.asymmetricKeyDetails?.modulusLength).toBe(1_024);
  expect(createPublicKey(key).export({ type: 'spki', format: 'pem' })).toBe(publicKeyPem);
});

test('generates a new serial each time, which as DER is positive and minimal', () => {
  expect(generateSerial()).not.toBe(generateSerial());
  const serials = [0, 0x80, 0xff].map((byte) => generateSerial(() => new Uint8Array(16).fill(byte)));
  expect(serials.map((serial) => serial.slice(0, 4))).toEqual(['4000', '4080', '7fff']);
});

test('limits the validity of a leaf to that of its authority', async () => {
  const later = new Date(now.getTime() + 3_649 * 24 * HOUR_MS);
  const leaf = await issueLeaf({ authority, dnsNames: [SERVICE], ipAddresses: [], days: 365, now: later });
  const [own, issuer] = [leaf, authority].map(({ certificatePem }) => {
    return readValidity(new X509Certificate(certificatePem));
  });
  expect(own?.notAfter).toEqual(issuer?.notAfter);
  expect(own?.notBefore.getTime()).toBeGreaterThan(issuer?.notBefore.getTime() ?? Number.NaN);
});

test.each([
  ['2026-11-19T09:59:59Z', 'it is not valid before 2026-11-19T10:00:00.000Z'],
  ['2026-11-24T19:19:59Z', undefined],
  ['2026-11-24T19:20:00Z', 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:00Z', 'two thirds of its life passed at 2026-11-24T19:20:00.000Z'],
  ['2026-11-27T12:00:01Z', 'it expired at 2026-11-27T12:00:00.000Z'],
])('at %s the reason to renew a leaf of seven days is %j', (time, reason) => {
  const leaf = { validFrom: '2026-11-19T10:00:00Z', validTo: '2026-11-27T12:00:00Z' } as X509Certificate;
  expect(findRenewalReason(leaf, new Date(time))).toBe(reason);
});
