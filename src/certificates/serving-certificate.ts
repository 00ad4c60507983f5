import { X509Certificate } from 'node:crypto';
import { Replaceable, type Replaced } from '../common/replaceable.ts';
import { type KeyPair, readValidity } from './key-pair.ts';

/** The certificate or chain of new connections, and its key. */
export interface ServingCertificate extends Replaced<KeyPair> {
  /** Includes the expiry of the authority if this process has it. */
  expiries(): readonly Expiry[];
}

export interface Expiry {
  readonly certificate: 'serving' | 'authority';
  readonly notAfter: Date;
  /** Whether this process renews it. */
  readonly isRenewedByGuard: boolean;
}

export function readExpiry(certificate: Expiry['certificate'], pem: string, isRenewedByGuard: boolean): Expiry {
  const { notAfter } = readValidity(new X509Certificate(pem));
  return { certificate, notAfter, isRenewedByGuard };
}

export class ExternalCertificate extends Replaceable<KeyPair> implements ServingCertificate {
  expiries(): readonly Expiry[] {
    return [readExpiry('serving', this.current().certificatePem, false)];
  }
}

/** For a guard that stops before the certificate expires. */
export function createFixedCertificate(pair: KeyPair): ServingCertificate {
  return new ExternalCertificate(pair);
}
