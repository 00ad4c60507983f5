import { createSign, generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import forge from 'node-forge';
import type { Validity } from './key-pair.ts';

/** PEM. The private key is PKCS#8. */
export interface RsaKeys {
  readonly publicKeyPem: string;
  readonly privateKeyPem: string;
}

interface CertificateContent {
  readonly subject: forge.pki.CertificateField[];
  readonly issuer: forge.pki.CertificateField[];
  readonly publicKeyPem: string;
  readonly validity: Validity;
  readonly extensions: object[];
  readonly issuerKeyPem: string;
}

/** RFC 5280 §4.1.2.2 allows up to 20 octets. The CA/Browser Forum requires 64 random bits. */
const SERIAL_BYTES = 16;

const generate = promisify(generateKeyPair);

/** OpenSSL generates them in another thread, in 0.05 to 0.3 s. node-forge would block the event loop for seconds. */
export async function generateRsaKeys(bits: number): Promise<RsaKeys> {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { publicKeyPem: publicKey, privateKeyPem: privateKey };
}

/** Signs with RSA and SHA-256, with a new serial number. Returns PEM. */
export function signCertificate(content: CertificateContent): string {
  const certificate = forge.pki.createCertificate();
  certificate.serialNumber = generateSerial();
  certificate.publicKey = forge.pki.publicKeyFromPem(content.publicKeyPem);
  certificate.validity = { ...content.validity };
  certificate.setSubject(content.subject);
  certificate.setIssuer(content.issuer);
  certificate.setExtensions(content.extensions);
  // OpenSSL takes 4 ms. node-forge would block the event loop for 200 ms and more.
  const signer = {
    sign: (): string => {
      const tbsCertificate = Buffer.from(forge.asn1.toDer(certificate.tbsCertificate).getBytes(), 'latin1');
      return createSign('sha256').update(tbsCertificate).sign(content.issuerKeyPem).toString('latin1');
    },
  };
  // node-forge calls no other method of the key. Without a digest it would write SHA-1, which Go rejects.
  certificate.sign(signer as unknown as forge.pki.rsa.PrivateKey, forge.md.sha256.create());
  // node-forge writes CRLF, which YAML can only hold in an escaped string.
  return forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n');
}

/** Returns hex. DER integers are signed, and minimal, so the highest bit is clear and the second one is set. */
export function generateSerial(random: (size: number) => Uint8Array = randomBytes): string {
  const bytes = Uint8Array.from(random(SERIAL_BYTES));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}
