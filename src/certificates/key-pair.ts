import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** Both parsed parts if they belong together, otherwise the reason without a period. */
export type KeyPairCheck =
  | { readonly usable: true; readonly certificate: X509Certificate; readonly privateKey: KeyObject }
  | { readonly usable: false; readonly reason: string };

/** Checks the first certificate of a chain. Ignores dates. Never throws. */
export function checkKeyPair({ certificatePem, privateKeyPem }: KeyPair): KeyPairCheck {
  const certificate = tryParse(() => new X509Certificate(certificatePem));
  if (certificate === undefined) return { usable: false, reason: 'the certificate cannot be read as PEM' };
  // OpenSSL would report "interrupted or cancelled", because it cannot ask for the passphrase.
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(privateKeyPem)) {
    return { usable: false, reason: 'the private key is encrypted; store it without a passphrase' };
  }
  const privateKey = tryParse(() => createPrivateKey(privateKeyPem));
  if (privateKey === undefined) return { usable: false, reason: 'the private key cannot be read as PEM' };
  if (certificate.checkPrivateKey(privateKey)) return { usable: true, certificate, privateKey };
  return { usable: false, reason: 'the private key belongs to another certificate' };
}

function tryParse<Parsed>(parse: () => Parsed): Parsed | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
