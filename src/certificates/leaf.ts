import { X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { type Authority, checkAuthority } from './authority.ts';
import type { KeyPair } from './key-pair.ts';
import { expandIpAddress, findDnsNameProblem, findIpAddressProblem } from './names.ts';
import { generateLeafKeys, type KeyGenerator } from './rsa-keys.ts';
import { signCertificate } from './sign-certificate.ts';
import { computeValidity, readValidity } from './validity.ts';

export interface LeafOptions {
  readonly authority: Authority;
  /** Such as `<service>.<namespace>.svc`, which the API server calls. */
  readonly dnsNames: readonly string[];
  /** IPv4 or IPv6. There must be at least one name or address. */
  readonly ipAddresses: readonly string[];
  /** Days from `now`, 1 to 3650. The leaf ends no later than its authority. */
  readonly days: number;
  readonly now: Date;
  readonly generateKeys?: KeyGenerator | undefined;
}

/** Go has ignored the common name since 1.15. The SAN contains the names and has no 64-character limit. */
const COMMON_NAME = 'machineconfig-guard';
/** The kinds of subjectAltName in RFC 5280 §4.2.1.6. */
const SAN_DNS = 2;
const SAN_IP = 7;

/**
 * Issues a serving certificate with RSA and SHA-256. The PEM contains no chain, because the webhook
 * configuration's caBundle has the root.
 *
 * @throws RangeError on invalid names or days
 * @throws Error if the authority cannot sign at `now`, with the reason
 */
export async function issueLeaf(options: LeafOptions): Promise<KeyPair> {
  const { authority, dnsNames, ipAddresses, days, now, generateKeys = generateLeafKeys } = options;
  assertNames(options);
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

function assertNames({ dnsNames, ipAddresses }: LeafOptions): void {
  if (dnsNames.length + ipAddresses.length === 0) {
    throw new RangeError('a serving certificate needs at least one DNS name or IP address');
  }
  for (const name of dnsNames) assertValid(name, findDnsNameProblem(name));
  for (const address of ipAddresses) assertValid(address, findIpAddressProblem(address));
}

function assertValid(name: string, problem: string | undefined): void {
  if (problem !== undefined) throw new RangeError(`${JSON.stringify(name)} ${problem}`);
}

/** Other tools may derive it differently from node-forge, which uses the key's SHA-1. */
function readKeyIdentifier(issuer: forge.pki.Certificate): string {
  const extension: unknown = issuer.getExtension('subjectKeyIdentifier');
  if (typeof extension === 'object' && extension !== null && 'subjectKeyIdentifier' in extension) {
    return forge.util.hexToBytes(String(extension.subjectKeyIdentifier));
  }
  return issuer.generateSubjectKeyIdentifier().getBytes();
}

/** node-forge encodes some inputs wrongly (see names.ts), so Node's X509Certificate verifies the result. */
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
