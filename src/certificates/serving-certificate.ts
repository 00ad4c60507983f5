import { X509Certificate } from 'node:crypto';
import type { KeyPair } from './key-pair.ts';
import { readValidity } from './validity.ts';

/** A serving certificate that can be replaced at any time. */
export interface ServingCertificate {
  /** The certificate or chain, and its key, for new connections. */
  current(): KeyPair;
  /** Calls the listener after each change of {@link current}. The listener must not throw. */
  onChange(listener: () => void): void;
  /** Includes the expiry of the authority if this process has it. */
  expiries(): readonly Expiry[];
}

export interface Expiry {
  readonly certificate: 'serving' | 'authority';
  readonly notAfter: Date;
  /** Whether this process renews it. */
  readonly isRenewedByGuard: boolean;
}

/** Reads the first certificate of a chain. */
export function readExpiry(certificate: Expiry['certificate'], pem: string, isRenewedByGuard: boolean): Expiry {
  const { notAfter } = readValidity(new X509Certificate(pem));
  return { certificate, notAfter, isRenewedByGuard };
}

/** For a guard that stops before the certificate expires. */
export function createFixedCertificate(pair: KeyPair): ServingCertificate {
  return {
    current: () => pair,
    onChange: () => {},
    expiries: () => [readExpiry('serving', pair.certificatePem, false)],
  };
}
