import type { KeyObject, X509Certificate } from 'node:crypto';
import { checkKeyPair, type KeyPair, type KeyPairCheck } from './key-pair.ts';

import { generateRsaKeys, signCertificate } from './sign-certificate.ts';
import { computeValidity, findDateProblem } from './validity.ts';

/** A self-signed certificate for a webhook's caBundle, and its key. */
export type Authority = KeyPair;

/** NIST SP 800-57 part 1 asks for 3072 bits after 2030. An authority can live for ten years. */
const AUTHORITY_KEY_BITS = 3072;
/** The minimum of the CA/Browser Forum and of OpenSSL's default security level. */
const MIN_KEY_BITS = 2048;

/**
 * Creates a self-signed authority that signs leaves only (pathlen 0), with RSA and SHA-256. A unique subject
 * distinguishes the authorities of a rotation.
 *
 * @throws RangeError unless `days` is a whole number from 1 to 3650
 */
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

/** Checks that an authority can sign leaves at `now`. Never throws. */
export function checkAuthority(pair: KeyPair, now: Date): KeyPairCheck {
  const check = checkKeyPair(pair);
  const reason = check.usable ? findAuthorityProblem(check.certificate, check.privateKey, now) : undefined;
  return reason === undefined ? check : { usable: false, reason };
}

function findAuthorityProblem(certificate: X509Certificate, privateKey: KeyObject, now: Date): string | undefined {
  // `ca` is true only if basicConstraints has cA, and keyUsage, if present, includes keyCertSign.
  if (!certificate.ca) return 'the certificate is not one of an authority';
  // node-forge supports no other keys.
  const { asymmetricKeyType: type = 'of an unknown kind', asymmetricKeyDetails } = privateKey;
  if (type !== 'rsa') return `its key is ${type}; RSA is needed`;
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < MIN_KEY_BITS) return `its RSA key has ${bits} bits; ${MIN_KEY_BITS} are needed`;
  const problem = findDateProblem(certificate, now);
  return problem === undefined ? undefined : `the authority ${problem}`;
}
