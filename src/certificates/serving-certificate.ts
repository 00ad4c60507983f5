import { X509Certificate } from 'node:crypto';
import type { KeyPair } from './key-pair.ts';

/** What the TLS server presents to the API server: the certificate (chain) and its private key, both PEM. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
}

/** Where the serving certificate comes from. It may be replaced at any time, without a call being dropped. */
export interface ServingCertificate {
  /** The pair to serve with from now on. */
  current(): ServingPair;
  /** Calls the listener each time after {@link current} has changed. */
  onChange(listener: () => void): void;
  /** When what is served with at present ends. */
  expiries(): readonly Expiry[];
}

/** The end of a certificate on which serving depends. */
export interface Expiry {
  readonly certificate: 'serving' | 'authority';
  readonly notAfter: Date;
  /** This process renews it in time by itself. */
  readonly isRenewedHere: boolean;
}

/** The end of the first certificate in a PEM text. */
export function readExpiry(certificate: Expiry['certificate'], pem: string, isRenewedHere: boolean): Expiry {
  return { certificate, notAfter: new Date(new X509Certificate(pem).validTo), isRenewedHere };
}

/** A certificate that stays as it is: for a guard that lives no longer than its certificate. */
export function createFixedCertificate({ certificatePem, privateKeyPem }: KeyPair): ServingCertificate {
  return {
    current: () => ({ cert: certificatePem, key: privateKeyPem }),
    onChange: () => {},
    expiries: () => [readExpiry('serving', certificatePem, false)],
  };
}
