import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

/** A certificate and the private key it was made for, both PEM (the key PKCS#8 where we made it). */
export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** Whether a certificate and a key belong together; if so both parsed, if not why (a sentence without its full stop). */
export type KeyPairCheck =
  | { readonly usable: true; readonly certificate: X509Certificate; readonly privateKey: KeyObject }
  | { readonly usable: false; readonly reason: string };

/**
 * Parses a certificate (of a chain, the first) and a private key and checks that they belong together. Dates are not looked at.
 * Never throws.
 */
export function checkKeyPair({ certificatePem, privateKeyPem }: KeyPair): KeyPairCheck {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(certificatePem);
  } catch {
    return { usable: false, reason: 'the certificate cannot be read as PEM' };
  }
  // OpenSSL says "interrupted or cancelled" for an encrypted key, since it cannot ask for the passphrase.
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(privateKeyPem)) {
    return { usable: false, reason: 'the private key is encrypted; store it without a passphrase' };
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(privateKeyPem);
  } catch {
    return { usable: false, reason: 'the private key cannot be read as PEM' };
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    return { usable: false, reason: 'the private key belongs to another certificate' };
  }
  return { usable: true, certificate, privateKey };
}
