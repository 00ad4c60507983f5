import { X509Certificate } from 'node:crypto';
import type { KeyPair } from './key-pair.ts';
import { readValidity } from './validity.ts';

/** A serving certificate that can be replaced at any time. */
export interface ServingCertificate {
  /** The certificate or chain, and its key, for new connections. */
  current(): KeyPair;
  /** Calls the listener after each change of {@link current}. The listener must not throw. */
  onChange(listener: () => void): void;
  /** The expiries of the current certificate and, if this process has it, its authority. */
  expiries(): readonly Expiry[];
}

export interface Expiry {
  readonly certificate: 'serving' | 'authority';
  readonly notAfter: Date;
  /** Whether this process renews it. */
  readonly isRenewedHere: boolean;
}

/** Reads the first certificate of a chain. */
export function readExpiry(certificate: Expiry['certificate'], pem: string, isRenewedHere: boolean): Expiry {
  const { notAfter } = readValidity(new X509Certificate(pem));
  return { certificate, notAfter, isRenewedHere };
}

/** Creates a certificate that never changes, for a guard that stops before it expires. */
export function createFixedCertificate(pair: KeyPair): ServingCertificate {
  return {
    current: () => pair,
    onChange: () => {},
    expiries: () => [readExpiry('serving', pair.certificatePem, false)],
  };
}
