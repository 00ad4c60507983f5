import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Replaceable } from '../common/replaceable.ts';

/** A certificate, or a chain that starts with it, and its private key. */
export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** A text is no PEM, or a certificate and a key do not belong together. */
export class UnusableKeyPair extends Error {}

/** Parses the first certificate of a chain and its key. Ignores dates. @throws UnusableKeyPair */
export function parseKeyPair({ certificatePem, privateKeyPem }: KeyPair) {
  const certificate = parsePem('certificate', () => new X509Certificate(certificatePem));
  // OpenSSL would report "interrupted or cancelled", because it cannot ask for the passphrase.
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(privateKeyPem)) {
    throw new UnusableKeyPair('the private key is encrypted; store it without a passphrase');
  }
  const privateKey = parsePem('private key', () => createPrivateKey(privateKeyPem));
  if (certificate.checkPrivateKey(privateKey)) return { certificate, privateKey };
  throw new UnusableKeyPair('the private key belongs to another certificate');
}

function parsePem<Parsed>(part: string, parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    throw new UnusableKeyPair(`the ${part} cannot be read as PEM`, { cause: error });
  }
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * During an installation hosts trust their hardware clock, and local time read as UTC is wrong by +14 h
 * (Kiribati) to -12 h (Baker Island). The issuer may be ahead while the API server is behind.
 */
const BACKDATE_MS = (14 + 12) * HOUR_MS;

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** `validFromDate` exists only from Node 22.10 on. */
export function readValidity(certificate: X509Certificate): Validity {
  return { notBefore: new Date(certificate.validFrom), notAfter: new Date(certificate.validTo) };
}

/** Returns a validity of so many days from now, backdated for slow clocks, and within that of the issuer. */
export function computeValidity(now: Date, days: number, issuer?: Validity): Validity {
  const notBefore = now.getTime() - BACKDATE_MS;
  const notAfter = now.getTime() + days * DAY_MS;
  return {
    notBefore: new Date(Math.max(notBefore, issuer?.notBefore.getTime() ?? notBefore)),
    notAfter: new Date(Math.min(notAfter, issuer?.notAfter.getTime() ?? notAfter)),
  };
}

/** Returns a phrase without its subject, or undefined if the certificate is valid now. */
export function findDateProblem(certificate: X509Certificate, now: Date): string | undefined {
  const { notBefore, notAfter } = readValidity(certificate);
  if (now < notBefore) return `is not valid before ${notBefore.toISOString()}`;
  return now > notAfter ? `expired at ${notAfter.toISOString()}` : undefined;
}

/** Returns a phrase, or undefined. A renewal is due after two thirds of the life, or if it is not valid now. */
export function findRenewalReason(certificate: X509Certificate, now: Date): string | undefined {
  const problem = findDateProblem(certificate, now);
  if (problem !== undefined) return `it ${problem}`;
  const { notBefore, notAfter } = readValidity(certificate);
  const dueAt = new Date((notBefore.getTime() + 2 * notAfter.getTime()) / 3);
  return now < dueAt ? undefined : `two thirds of its life passed at ${dueAt.toISOString()}`;
}

export interface Expiry {
  readonly certificate: 'serving' | 'authority';
  readonly notAfter: Date;
  readonly isRenewedByGuard: boolean;
}

/** With its authority if the guard has issued it, and renews it. */
export interface ServedPair extends KeyPair {
  readonly authority?: KeyPair;
}

/** The certificate that the servers use. Replacing it concerns new connections. */
export class ServingCertificate extends Replaceable<ServedPair> {
  /** Returns the end of the serving certificate, and of its authority if the guard has issued it. */
  expiries(): readonly Expiry[] {
    const { certificatePem, authority } = this.current();
    const { notAfter } = readValidity(new X509Certificate(certificatePem));
    const serving = { certificate: 'serving', notAfter, isRenewedByGuard: authority !== undefined } as const;
    if (authority === undefined) return [serving];
    const { notAfter: end } = readValidity(new X509Certificate(authority.certificatePem));
    return [serving, { certificate: 'authority', notAfter: end, isRenewedByGuard: false }];
  }
}
