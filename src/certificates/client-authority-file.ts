import { X509Certificate } from 'node:crypto';
import { type FileFollowerOptions, type FollowedFiles, followFiles } from './file-follower.ts';
import { readValidity } from './validity.ts';

export interface ClientAuthorityFileOptions extends FileFollowerOptions {
  /** PEM with one certificate or more. */
  readonly file: string;
  readonly now?: () => Date;
}

/** PEM of the authorities whose client certificates the webhook accepts. Can be replaced at any time. */
export type ClientAuthority = FollowedFiles<string>;

const CERTIFICATE_START = '-----BEGIN CERTIFICATE-----';

/**
 * Follows the authorities in a file.
 *
 * @throws CertificateFilesError if the file is missing, or unusable for three seconds
 */
export async function watchClientAuthorityFile(options: ClientAuthorityFileOptions): Promise<ClientAuthority> {
  const { file } = options;
  const parse = ([pem = '']: readonly string[]): string => {
    const reason = findProblem(pem);
    if (reason !== undefined) throw new Error(`cannot verify clients with ${file}: ${reason}`);
    return pem;
  };
  const logContent = (pem: string, text: string): void => {
    for (const certificate of parseCertificates(pem)) logAuthority(options, certificate, text);
  };
  return await followFiles({ files: [file], parse, noun: 'client authority', logContent }, options);
}

/** Without a certificate Node would accept the clients of all public authorities. */
function findProblem(pem: string): string | undefined {
  try {
    const certificates = parseCertificates(pem);
    if (certificates.length === 0) return 'it contains no certificate in PEM';
    return certificates.every(({ ca }) => ca) ? undefined : 'the certificate is not one of an authority';
  } catch {
    return 'the certificate cannot be read as PEM';
  }
}

/** OpenSSL would ignore an unreadable certificate and all after it. */
function parseCertificates(pem: string): X509Certificate[] {
  const [, ...parts] = pem.split(CERTIFICATE_START);
  return parts.map((part) => new X509Certificate(CERTIFICATE_START + part));
}

/** The guard also uses an authority that is not valid now, because the clock may be wrong. */
function logAuthority(
  { file, log, now = () => new Date() }: ClientAuthorityFileOptions,
  certificate: X509Certificate,
  text: string,
): void {
  const { notBefore, notAfter } = readValidity(certificate);
  const { subject, fingerprint256 } = certificate;
  const dates = { notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
  const fields = { file, subject, ...dates, fingerprint256 };
  log.info(fields, text);
  const time = now();
  if (time < notBefore || time > notAfter)
    log.warn(fields, 'client authority is not valid now; the guard rejects its clients');
}
