import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ProblemLog } from '../common/problem-log.ts';
import { repeat } from '../common/wait.ts';
import { ServingCertificate, type KeyPair, parseKeyPair, readValidity } from './key-pair.ts';

export interface CertificateFilesOptions {
  /** PEM. A chain starts with the serving certificate. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A file is unreadable, or has no usable certificate or key. The message names it. */
export class CertificateFilesError extends Error {}

/** No watch: network file systems and replaced directories send no events. */
const INTERVAL_MS = 1_000;

/**
 * Reads a serving certificate from two files each second until the signal aborts, and keeps the last usable pair. It
 * need not be valid now, because the clock may be wrong. Throws CertificateFilesError if the first pair is unusable.
 */
export async function watchCertificateFiles(options: CertificateFilesOptions): Promise<ServingCertificate> {
  const { certFile, log, signal } = options;
  const problem = new ProblemLog(log);
  const certificate = new ServingCertificate(await readPair(options));
  logCertificate(options, certificate.current(), 'serving certificate loaded');
  const readAgain = async (): Promise<void> => {
    const pair = await readPair(options, certificate.current());
    if (pair !== certificate.current()) {
      logCertificate(options, pair, 'serving certificate replaced');
      certificate.replace(pair);
    }
    problem.clear();
  };
  const logProblem = (error: unknown): void => {
    const { message: reason } = error as Error;
    problem.warn(`new serving certificate not usable; the previous one stays: ${reason}`, { reason, file: certFile });
  };
  void repeat(INTERVAL_MS, signal, readAgain, logProblem);
  return certificate;
}

/** Returns the current pair if the files still contain it. @throws CertificateFilesError */
async function readPair({ certFile, keyFile }: CertificateFilesOptions, current?: KeyPair): Promise<KeyPair> {
  const [certificatePem = '', privateKeyPem = ''] = await Promise.all([certFile, keyFile].map(readText));
  const pair = { certificatePem, privateKeyPem };
  if (current !== undefined && isDeepStrictEqual(pair, current)) return current;
  try {
    const dates = Object.values(readValidity(parseKeyPair(pair).certificate));
    if (dates.some((date) => Number.isNaN(date.getTime()))) throw new Error('its dates are not readable');
    // Like the server, this reads the whole chain and rejects keys too short for OpenSSL.
    createSecureContext({ cert: certificatePem, key: privateKeyPem });
    return pair;
  } catch (error) {
    const { message } = error as Error;
    throw new CertificateFilesError(`cannot serve with ${certFile} and ${keyFile}: ${message}.`);
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`;
    throw new CertificateFilesError(`${file} ${problem}.`);
  }
}

function logCertificate({ certFile, log }: CertificateFilesOptions, { certificatePem }: KeyPair, text: string): void {
  const certificate = new X509Certificate(certificatePem);
  const { subjectAltName: names, fingerprint256 } = certificate;
  log.info({ certFile, names, ...readValidity(certificate), fingerprint256 }, text);
}
