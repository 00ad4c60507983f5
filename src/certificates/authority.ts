import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';
import {
  computeValidity,
  findDateProblem,
  type KeyPair,
  parseKeyPair,
  readValidity,
  UnusableKeyPair,
} from './key-pair.ts';
import { generateRsaKeys, signCertificate } from './sign-certificate.ts';

/** A self-signed certificate for a webhook's caBundle, and its key. */
export type Authority = KeyPair;

/** Ten years, the life of an authority that `render` or `certs` creates. */
export const AUTHORITY_DAYS = 3650;
/** NIST SP 800-57 part 1 asks for 3072 bits after 2030. An authority can live for ten years. */
const AUTHORITY_KEY_BITS = 3072;
/** Enough until 2030 (NIST SP 800-57), and half the handshake cost of 3072. */
const LEAF_KEY_BITS = 2048;
/** The minimum of the CA/Browser Forum and of OpenSSL's default security level. */
const MIN_KEY_BITS = 2048;

/** It signs leaves only (pathlen 0). A unique subject distinguishes the authorities of a rotation. */
export async function createAuthority({ days, now }: { days: number; now: Date }): Promise<Authority> {
  const validity = computeValidity(now, days);
  const { publicKeyPem, privateKeyPem } = await generateRsaKeys(AUTHORITY_KEY_BITS);
  const commonName = `machineconfig-guard-ca-${Math.floor(now.getTime() / 1000)}`;
  const subject = [{ name: 'commonName', value: commonName }];
  const extensions = [
    { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
    { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
    { name: 'subjectKeyIdentifier' },
  ];
  const content = { subject, issuer: subject, publicKeyPem, validity, extensions, issuerKeyPem: privateKeyPem };
  return { certificatePem: signCertificate(content), privateKeyPem };
}

/** Parses an authority that can sign leaves at `now`. @throws UnusableKeyPair */
export function parseAuthority(pair: KeyPair, now: Date) {
  const parsed = parseKeyPair(pair);
  const { certificate, privateKey } = parsed;
  // `ca` is true only if basicConstraints has cA, and keyUsage, if present, includes keyCertSign.
  if (!certificate.ca) throw new UnusableKeyPair('the certificate is not one of an authority');
  // node-forge supports no other keys.
  const { asymmetricKeyType: type = 'of an unknown kind', asymmetricKeyDetails } = privateKey;
  if (type !== 'rsa') throw new UnusableKeyPair(`its key is ${type}; RSA is needed`);
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < MIN_KEY_BITS) throw new UnusableKeyPair(`its RSA key has ${bits} bits; ${MIN_KEY_BITS} are needed`);
  const problem = findDateProblem(certificate, now);
  if (problem !== undefined) throw new UnusableKeyPair(`the authority ${problem}`);
  return parsed;
}

export interface LeafOptions {
  readonly authority: Authority;
  /** Such as `<service>.<namespace>.svc`, which the API server calls. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** Days from `now`, 1 to 3650. The leaf ends no later than its authority. */
  readonly days: number;
  readonly now: Date;
}

/** Go has ignored the common name since 1.15. The SAN contains the names and has no 64-character limit. */
const COMMON_NAME = 'machineconfig-guard';
/** The kinds of subjectAltName in RFC 5280 §4.2.1.6. */
const [SAN_DNS, SAN_IP] = [2, 7];

/**
 * Issues a serving certificate without a chain, because the caBundle of the webhook configuration has the root.
 * @throws UnusableKeyPair if the authority cannot sign at `now`; Error if the names are invalid
 */
export async function issueLeaf(options: LeafOptions): Promise<KeyPair> {
  const { authority, dnsNames, ipAddresses, days, now } = options;
  const { certificate } = parseAuthority(authority, now);
  const validity = computeValidity(now, days, readValidity(certificate));
  const { publicKeyPem, privateKeyPem } = await generateRsaKeys(LEAF_KEY_BITS);
  const issuer = forge.pki.certificateFromPem(authority.certificatePem);
  const altNames = [
    ...dnsNames.map((name) => ({ type: SAN_DNS, value: name.toLowerCase() })),
    ...ipAddresses.map((address) => ({ type: SAN_IP, ip: expandIpAddress(address) })),
  ];
  const certificatePem = signCertificate({
    subject: [{ name: 'commonName', value: COMMON_NAME }],
    issuer: issuer.subject.attributes,
    publicKeyPem,
    validity,
    extensions: [
      { name: 'basicConstraints', critical: true, cA: false },
      { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
      { name: 'subjectKeyIdentifier' },
      { name: 'authorityKeyIdentifier', keyIdentifier: readKeyIdentifier(issuer) },
    ],
    issuerKeyPem: authority.privateKeyPem,
  });
  assertVerified(certificatePem, certificate, options);
  return { certificatePem, privateKeyPem };
}

/** Other tools may derive it differently from node-forge, which uses the key's SHA-1. */
function readKeyIdentifier(issuer: forge.pki.Certificate): string {
  const extension = issuer.getExtension('subjectKeyIdentifier') as { subjectKeyIdentifier?: unknown } | null;
  if (typeof extension?.subjectKeyIdentifier === 'string') return forge.util.hexToBytes(extension.subjectKeyIdentifier);
  return issuer.generateSubjectKeyIdentifier().getBytes();
}

/** node-forge encodes some inputs wrongly, so Node verifies the result. */
function assertVerified(certificatePem: string, issuer: X509Certificate, { dnsNames, ipAddresses }: LeafOptions): void {
  const certificate = new X509Certificate(certificatePem);
  const isSigned = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  const failures = [
    ...(isSigned ? [] : ['its issuer']),
    ...dnsNames.filter((name) => certificate.checkHost(name) === undefined),
    ...ipAddresses.filter((address) => certificate.checkIP(address) === undefined),
  ];
  if (failures.length > 0) throw new Error(`the certificate just made cannot be verified for ${failures.join(', ')}`);
}

/** Writes IPv6 as eight groups, because node-forge 1.4.3 encodes `::ffff:10.0.0.1` and `::2:3:4:5:6:7:8` wrongly. */
function expandIpAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser turns a dotted quad into hex groups and the rest into lower case.
  const canonical = new URL(`https://[${address}]`).hostname.slice(1, -1);
  const groupCount = canonical.split(':').filter(Boolean).length;
  const zeros = Array.from({ length: 8 - groupCount }, () => '0').join(':');
  return canonical.replace('::', `:${zeros}:`).replaceAll(/^:|:$/g, '');
}
