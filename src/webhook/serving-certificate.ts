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
}

/** A certificate that stays as it is: for a guard that lives no longer than its certificate. */
export function fixedCertificate({ certificatePem, privateKeyPem }: KeyPair): ServingCertificate {
  return { current: () => ({ cert: certificatePem, key: privateKeyPem }), onChange: () => {} };
}
