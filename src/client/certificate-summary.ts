import { X509Certificate } from 'node:crypto';

/** For JSON: SHA-256 in hex with colons, and RFC 3339. */
export function summarizeCertificate(certificatePem: string) {
  const { fingerprint256, validTo } = new X509Certificate(certificatePem);
  return { fingerprint256, notAfter: new Date(validTo).toISOString() };
}
