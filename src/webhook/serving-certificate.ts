import { X509Certificate } from 'node:crypto';
import type { KeyPair } from '../certs/key-pair.ts';

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
  readonly renewedHere: boolean;
}

/** The end of the first certificate in a PEM text. */
export function expiryOf(certificate: Expiry['certificate'], pem: string, renewedHere: boolean): Expiry {
  return { certificate, notAfter: new Date(new X509Certificate(pem).validTo), renewedHere };
}

/** A certificate that stays as it is: for a guard that lives no longer than its certificate. */
export function fixedCertificate({ certificatePem, privateKeyPem }: KeyPair): ServingCertificate {
  return {
    current: () => ({ cert: certificatePem, key: privateKeyPem }),
    onChange: () => {},
    expiries: () => [expiryOf('serving', certificatePem, false)],
  };
}
