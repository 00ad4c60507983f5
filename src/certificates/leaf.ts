import { X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { checkAuthority, toPem, signCertificate, type Authority } from './authority.ts';
import type { KeyPair } from './key-pair.ts';
import { expandIpAddress, findDnsNameProblem, findIpAddressProblem } from './names.ts';
import { readValidity } from './renewal.ts';
import { generateLeafKeys, type LeafKeyGenerator } from './rsa-keys.ts';
import { generateSerial } from './serial.ts';
import { computeValidity } from './validity.ts';

/** What {@link issueLeaf} needs. */
export interface LeafOptions {
  readonly authority: Authority;
  /** Names the API server may call: `<service>.<namespace>.svc` for a webhook with a service reference. */
  readonly dnsNames: readonly string[];
  /** Addresses it may call, IPv4 or IPv6. Names and addresses together are at least one. */
  readonly ipAddresses: readonly string[];
  /** How long from `now`, 1 to 3650; cut at the authority's own end. */
  readonly days: number;
  readonly now: Date;
  readonly newKeys?: LeafKeyGenerator | undefined;
}

/** Go has not looked at it since 1.15; the names are in the SAN alone, which has no limit of 64 characters. */
const COMMON_NAME = 'machineconfig-guard';

/** subjectAltName kinds of RFC 5280 §4.2.1.6. */
const SAN_DNS = 2;
const SAN_IP = 7;

/**
 * Issues a serving certificate: RSA, SHA-256, serverAuth, the names in the SAN. `certificatePem` is the leaf alone: the authority
 * is a root that the client has (caBundle), so there is nothing to send along. Before it is handed out, OpenSSL has confirmed the
 * signature, the key and every name. Throws a RangeError on bad names or days, an Error with the reason if the authority cannot
 * sign at `now`.
 */
export async function issueLeaf(request: LeafOptions): Promise<KeyPair> {
  const { authority, dnsNames, ipAddresses, days, now, newKeys = generateLeafKeys } = request;
  assertNames(dnsNames, ipAddresses);
  const check = checkAuthority(authority, now);
  if (!check.usable) throw new Error(`the authority cannot issue a certificate: ${check.reason}`);
  const { notBefore, notAfter } = computeValidity(now, days, readValidity(check.certificate));
  const keys = await newKeys();
  const issuer = forge.pki.certificateFromPem(authority.certificatePem);
  const certificate = forge.pki.createCertificate();
  certificate.serialNumber = generateSerial();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKeyPem);
  certificate.validity.notBefore = notBefore;
  certificate.validity.notAfter = notAfter;
  certificate.setSubject([{ name: 'commonName', value: COMMON_NAME }]);
  certificate.setIssuer(issuer.subject.attributes);
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: false },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    { name: 'extKeyUsage', serverAuth: true },
    {
      name: 'subjectAltName',
      altNames: [
        ...dnsNames.map((value) => ({ type: SAN_DNS, value: value.toLowerCase() })),
        ...ipAddresses.map((address) => ({ type: SAN_IP, ip: expandIpAddress(address) })),
      ],
    },
    { name: 'subjectKeyIdentifier' },
    { name: 'authorityKeyIdentifier', keyIdentifier: keyIdentifierOf(issuer) },
  ]);
  signCertificate(certificate, authority.privateKeyPem);
  const leaf = { certificatePem: toPem(certificate), privateKeyPem: keys.privateKeyPem };
  assertServes(leaf, check.certificate, dnsNames, ipAddresses);
  return leaf;
}

function assertNames(dnsNames: readonly string[], ipAddresses: readonly string[]): void {
  if (dnsNames.length + ipAddresses.length === 0) {
    throw new RangeError('a serving certificate needs at least one DNS name or IP address');
  }
  for (const name of dnsNames) {
    const why = findDnsNameProblem(name);
    if (why !== undefined) throw new RangeError(`${JSON.stringify(name)} ${why}`);
  }
  for (const address of ipAddresses) {
    const why = findIpAddressProblem(address);
    if (why !== undefined) throw new RangeError(`${JSON.stringify(address)} ${why}`);
  }
}

/** The authority's own subjectKeyIdentifier, which need not be the SHA-1 of its key if somebody else's tool made it. */
function keyIdentifierOf(issuer: forge.pki.Certificate): string {
  const extension: unknown = issuer.getExtension('subjectKeyIdentifier');
  if (typeof extension === 'object' && extension !== null && 'subjectKeyIdentifier' in extension) {
    return forge.util.hexToBytes(String(extension.subjectKeyIdentifier));
  }
  return issuer.generateSubjectKeyIdentifier().getBytes();
}

/** node-forge encodes some inputs wrongly without a word (names.ts, authority.ts), so OpenSSL reads back what it wrote. */
function assertServes(
  leaf: KeyPair,
  issuer: X509Certificate,
  dnsNames: readonly string[],
  ipAddresses: readonly string[],
): void {
  const certificate = new X509Certificate(leaf.certificatePem);
  const wrong = [
    ...(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey) ? [] : ['its issuer']),
    ...dnsNames.filter((name) => certificate.checkHost(name) === undefined),
    ...ipAddresses.filter((address) => certificate.checkIP(address) === undefined),
  ];
  if (wrong.length > 0) throw new Error(`the certificate just made cannot be verified for ${wrong.join(', ')}`);
}
