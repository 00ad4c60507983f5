import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ProblemLog } from '../common/problem-log.ts';
import { repeat } from '../common/wait.ts';
import { checkKeyPair, type KeyPair } from './key-pair.ts';
import { ExternalCertificate, type ServingCertificate } from './serving-certificate.ts';
import { readValidity } from './validity.ts';

export interface CertificateFilesOptions {
  /** PEM. A chain starts with the serving certificate. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Milliseconds between two reads of the files. */
  readonly intervalMs?: number;
}

/** Thrown if the files are unusable at startup. */
export class CertificateFilesError extends Error {
  override readonly name = 'CertificateFilesError';
  /** Undefined if the two files do not fit together. */
  readonly file: string | undefined;

  constructor(message: string, file?: string) {
    super(message);
    this.file = file;
  }
}

/** No watch: network file systems and replaced directories send no events. */
const INTERVAL_MS = 1_000;

/**
 * Reads a serving certificate from two files each second until the signal aborts. If later files are unusable, the
 * guard logs it once and keeps the last usable pair. A certificate can be served that is not valid now, because the
 * clock may be wrong.
 *
 * @throws CertificateFilesError if a file is missing, or the pair is unusable
 */
export async function watchCertificateFiles(options: CertificateFilesOptions): Promise<ServingCertificate> {
  const { certFile, log, signal, intervalMs = INTERVAL_MS } = options;
  const first = await readFiles(options);
  assertUsable(options, first);
  logCertificate(options, first, 'serving certificate loaded');
  const certificate = new ExternalCertificate(first);
  const problem = new ProblemLog(log);
  const readAgain = async (): Promise<void> => {
    const pair = await readFiles(options);
    if (!isDeepStrictEqual(pair, certificate.current())) {
      assertUsable(options, pair);
      logCertificate(options, pair, 'serving certificate replaced');
      certificate.replace(pair);
    }
    problem.clear();
  };
  const logProblem = (error: unknown): void => {
    const { message: reason } = error as Error;
    problem.warn(`new serving certificate not usable; the previous one stays: ${reason}`, { reason, file: certFile });
  };
  void repeat(intervalMs, signal, readAgain, logProblem);
  return certificate;
}

/** @throws CertificateFilesError */
async function readFiles({ certFile, keyFile }: CertificateFilesOptions): Promise<KeyPair> {
  const [certificatePem, privateKeyPem] = await Promise.all([certFile, keyFile].map(readText));
  return { certificatePem, privateKeyPem } as KeyPair;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`;
    throw new CertificateFilesError(`${file} ${problem}.`, file);
  }
}

/** @throws CertificateFilesError */
function assertUsable({ certFile, keyFile }: CertificateFilesOptions, pair: KeyPair): void {
  try {
    const check = checkKeyPair(pair);
    if (!check.usable) throw new Error(check.reason);
    const dates = Object.values(readValidity(new X509Certificate(pair.certificatePem)));
    if (dates.some((date) => Number.isNaN(date.getTime()))) throw new Error('its dates are not readable');
    // Like the server, this reads the whole chain and rejects keys too short for OpenSSL.
    createSecureContext({ cert: pair.certificatePem, key: pair.privateKeyPem });
  } catch (error) {
    const { message } = error as Error;
    throw new CertificateFilesError(`cannot serve with ${certFile} and ${keyFile}: ${message}.`);
  }
}

function logCertificate({ certFile, log }: CertificateFilesOptions, { certificatePem }: KeyPair, text: string): void {
  const certificate = new X509Certificate(certificatePem);
  const { notBefore, notAfter } = readValidity(certificate);
  const { subjectAltName: names, fingerprint256 } = certificate;
  const dates = { notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
  log.info({ certFile, names, ...dates, fingerprint256 }, text);
}
