import { createSign, type X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { checkKeyPair, type KeyPair } from './key-pair.ts';
import { readValidity } from './renewal.ts';
import { generateRsaKeys } from './rsa-keys.ts';
import { generateSerial } from './serial.ts';
import { computeValidity } from './validity.ts';

/** A certificate authority: its self-signed certificate (what goes into a webhook's caBundle) and its key. */
export type Authority = KeyPair;

/** What {@link createAuthority} needs. */
export interface AuthorityOptions {
  /** At most 64 characters of ASN.1 PrintableString. Default: `machineconfig-guard-ca-<unix seconds>`. */
  readonly commonName?: string;
  /** How long from `now`, 1 to 3650. */
  readonly days: number;
  readonly now: Date;
}

/** Whether a key pair can sign leaves at a moment; if not why (a sentence without its full stop). */
export type AuthorityCheck =
  | { readonly usable: true; readonly certificate: X509Certificate }
  | { readonly usable: false; readonly reason: string };

/** NIST SP 800-57 part 1 keeps 2048 bits for what ends by 2030 and asks for 3072 beyond: an authority lives for up to 10 years. */
const AUTHORITY_KEY_BITS = 3072;

/** Below this nothing is signed: the floor of the CA/Browser Forum and of OpenSSL's default security level. */
const MIN_KEY_BITS = 2048;

/** X.520 ub-common-name. */
const MAX_COMMON_NAME = 64;

/**
 * Makes a self-signed authority: RSA, SHA-256, may sign leaves and nothing below them (pathlen 0). It starts 26 hours before
 * `now` for hosts whose clock is off. Each gets a subject of its own, so that during a rotation the old and the new one in a
 * bundle are told apart by name as well as by key. Throws a RangeError on a bad name or number of days.
 */
export async function createAuthority({ commonName, days, now }: AuthorityOptions): Promise<Authority> {
  const subject = commonName ?? `machineconfig-guard-ca-${Math.floor(now.getTime() / 1000)}`;
  assertCommonName(subject);
  const { notBefore, notAfter } = computeValidity(now, days);
  const keys = await generateRsaKeys(AUTHORITY_KEY_BITS);
  const certificate = forge.pki.createCertificate();
  certificate.serialNumber = generateSerial();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKeyPem);
  certificate.validity.notBefore = notBefore;
  certificate.validity.notAfter = notAfter;
  const name = [{ name: 'commonName', value: subject }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
    { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  signCertificate(certificate, keys.privateKeyPem);
  return { certificatePem: toPem(certificate), privateKeyPem: keys.privateKeyPem };
}

/**
 * Whether `pair`, read back from a file or a Secret, can sign leaves at `now`: key and certificate belong together, it is an
 * authority with an RSA key of 2048 bits or more (node-forge signs with nothing else), and it is valid. Never throws.
 */
export function checkAuthority(pair: KeyPair, now: Date): AuthorityCheck {
  const check = checkKeyPair(pair);
  if (!check.usable) return check;
  const { certificate, privateKey } = check;
  // True only if basicConstraints say so and keyUsage, where there is one, includes keyCertSign.
  if (!certificate.ca) return { usable: false, reason: 'the certificate is not one of an authority' };
  if (privateKey.asymmetricKeyType !== 'rsa') {
    return {
      usable: false,
      reason: `its key is ${privateKey.asymmetricKeyType ?? 'of an unknown kind'}; RSA is needed`,
    };
  }
  const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < MIN_KEY_BITS) return { usable: false, reason: `its RSA key has ${bits} bits; ${MIN_KEY_BITS} are needed` };
  const { notBefore, notAfter } = readValidity(certificate);
  if (now < notBefore) return { usable: false, reason: `the authority is not valid before ${notBefore.toISOString()}` };
  if (now > notAfter) return { usable: false, reason: `the authority expired at ${notAfter.toISOString()}` };
  return { usable: true, certificate };
}

/**
 * Signs a certificate, which nothing may be changed in afterwards. By OpenSSL: in node-forge's own arithmetic it takes a tenth of a second
 * and more, in which nothing is answered.
 */
export function signCertificate(certificate: forge.pki.Certificate, privateKeyPem: string): void {
  const signer = {
    sign: (): string => {
      const signed = Buffer.from(forge.asn1.toDer(certificate.tbsCertificate).getBytes(), 'latin1');
      return createSign('sha256').update(signed).sign(privateKeyPem).toString('latin1');
    },
  };
  // All of a key that node-forge asks for here. Without a digest it would write SHA-1, which Go refuses.
  certificate.sign(signer as unknown as forge.pki.rsa.PrivateKey, forge.md.sha256.create());
}

/** PEM with plain line ends: node-forge writes CRLF, which YAML can only carry in an escaped string. */
export function toPem(certificate: forge.pki.Certificate): string {
  return forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n');
}

/** node-forge writes names as PrintableString whatever is in them, and Go then refuses to parse the whole certificate. */
function assertCommonName(commonName: string): void {
  if (commonName.length > MAX_COMMON_NAME || !/^[A-Za-z0-9 '()+,\-./:=?]+$/.test(commonName)) {
    throw new RangeError(
      `the common name of an authority is 1 to ${MAX_COMMON_NAME} of A-Z a-z 0-9 space ' ( ) + , - . / : = ?, not ${JSON.stringify(commonName)}`,
    );
  }
}
