import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';
import { type Authority, checkAuthority } from './authority.ts';
import type { KeyPair } from './key-pair.ts';
import { generateLeafKeys, type KeyGenerator, signCertificate } from './sign-certificate.ts';
import { computeValidity, readValidity } from './validity.ts';

export interface LeafOptions {
  readonly authority: Authority;
  /** Such as `<service>.<namespace>.svc`, which the API server calls. */
  readonly dnsNames: readonly string[];
  /** IPv4 or IPv6. */
  readonly ipAddresses: readonly string[];
  /** Days from `now`, 1 to 3650. The leaf ends no later than its authority. */
  readonly days: number;
  readonly now: Date;
  readonly generateKeys?: KeyGenerator | undefined;
}

/** Go has ignored the common name since 1.15. The SAN contains the names and has no 64-character limit. */
const COMMON_NAME = 'machineconfig-guard';
/** The kinds of subjectAltName in RFC 5280 §4.2.1.6. */
const [SAN_DNS, SAN_IP] = [2, 7];

/**
 * Issues a serving certificate with RSA and SHA-256. The PEM contains no chain, because the webhook
 * configuration's caBundle has the root.
 *
 * @throws RangeError on invalid days
 * @throws Error if the authority cannot sign at `now`, or the names are invalid
 */
export async function issueLeaf(options: LeafOptions): Promise<KeyPair> {
  const { authority, dnsNames, ipAddresses, days, now, generateKeys = generateLeafKeys } = options;
  const check = checkAuthority(authority, now);
  if (!check.usable) throw new Error(`the authority cannot issue a certificate: ${check.reason}`);
  const validity = computeValidity(now, days, readValidity(check.certificate));
  const { publicKeyPem, privateKeyPem } = await generateKeys();
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
  assertVerified(certificatePem, check.certificate, options);
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

/**
 * Writes IPv6 as eight groups, because node-forge 1.4.3 takes `::ffff:10.0.0.1` for IPv4 and drops the last
 * group of `::2:3:4:5:6:7:8`.
 */
export function expandIpAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  // The URL parser turns a dotted quad into hex groups and the rest into lower case.
  const canonical = new URL(`https://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  if (tail === undefined) return canonical;
  const before = head.split(':').filter(Boolean);
  const after = tail.split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].join(':');
}
