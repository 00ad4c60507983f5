import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type FileFollowerOptions, followFiles } from './file-follower.ts';
import { checkKeyPair, type KeyPair } from './key-pair.ts';
import { readExpiry, type ServingCertificate } from './serving-certificate.ts';
import { readValidity } from './validity.ts';

export interface CertificateFilesOptions extends FileFollowerOptions {
  /** PEM. A chain starts with the serving certificate. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly now?: () => Date;
}

/**
 * Follows a serving certificate in two files.
 *
 * @throws CertificateFilesError if a file is missing, or the pair is unusable for three seconds
 */
export async function watchCertificateFiles(options: CertificateFilesOptions): Promise<ServingCertificate> {
  const { certFile, keyFile } = options;
  const parse = ([certificatePem = '', privateKeyPem = '']: readonly string[]): KeyPair => {
    const pair = { certificatePem, privateKeyPem };
    try {
      assertUsable(pair);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`cannot serve with ${certFile} and ${keyFile}: ${message}`, { cause: error });
    }
    return pair;
  };
  const logContent = (pair: KeyPair, text: string): void => logCertificate(options, pair, text);
  const files = await followFiles(
    { files: [certFile, keyFile], parse, noun: 'serving certificate', logContent },
    options,
  );
  return { ...files, expiries: () => [readExpiry('serving', files.current().certificatePem, false)] };
}

function assertUsable(pair: KeyPair): void {
  const check = checkKeyPair(pair);
  if (!check.usable) throw new Error(check.reason);
  // Like the server, this reads the whole chain and rejects keys too short for OpenSSL.
  createSecureContext({ cert: pair.certificatePem, key: pair.privateKeyPem });
}

/** The guard also serves a certificate that is not valid now, because the clock may be wrong. */
function logCertificate(
  { certFile, log, now = () => new Date() }: CertificateFilesOptions,
  { certificatePem }: KeyPair,
  text: string,
): void {
  const certificate = new X509Certificate(certificatePem);
  const { notBefore, notAfter } = readValidity(certificate);
  const { subjectAltName: names, fingerprint256 } = certificate;
  const dates = { notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
  const fields = { certFile, names, ...dates, fingerprint256 };
  log.info(fields, text);
  const time = now();
  if (time > notAfter) log.warn(fields, 'serving certificate has expired; the API server will reject it');
  else if (time < notBefore)
    log.warn(fields, 'serving certificate is not valid yet; the API server will reject it');
}
