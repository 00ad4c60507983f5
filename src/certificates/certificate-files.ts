import type { X509Certificate } from 'node:crypto';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ProblemLog } from '../kube/problem-log.ts';
import { sleep } from '../kube/wait.ts';
import { checkKeyPair, type KeyPair } from './key-pair.ts';
import { readExpiry, type ServingCertificate } from './serving-certificate.ts';
import { readValidity } from './validity.ts';

export interface CertificateFilesOptions {
  /** PEM. A chain starts with the serving certificate. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly watchDirectory?: typeof watch;
  readonly pollMs?: number;
  readonly retryMs?: number;
}

/** Thrown if the files are unusable at startup. */
export class CertificateFilesError extends Error {
  override readonly name = 'CertificateFilesError';
}

type ReadResult =
  | { readonly pair: KeyPair; readonly certificate: X509Certificate }
  | { readonly pair: undefined; readonly problem: string; readonly isMissing: boolean };

/** Network file systems and replaced directories send no events. */
const POLL_MS = 30_000;
/** Replacing a Secret volume causes five events within a few milliseconds. */
const DEBOUNCE_MS = 100;
/** An unusable pair is probably half-written, so it is read again soon. */
const RETRY_MS = 1_000;
/** The start does not retry a missing file. */
const START_RETRIES = 3;

/**
 * Reads a serving certificate from two files, and again after each change until the signal aborts. If a
 * later pair is unusable, the guard logs it once, retries and keeps the last usable pair.
 *
 * @throws CertificateFilesError if a file is missing, or the pair is unusable for three seconds
 */
export async function watchCertificateFiles(options: CertificateFilesOptions): Promise<ServingCertificate> {
  const { signal, retryMs = RETRY_MS } = options;
  let result = await readPair(options);
  for (let retry = 0; result.pair === undefined && !result.isMissing && retry < START_RETRIES; retry += 1) {
    await sleep(retryMs, signal);
    signal.throwIfAborted();
    result = await readPair(options);
  }
  if (result.pair === undefined) throw new CertificateFilesError(`${result.problem}.`);
  logCertificate(options, result.certificate, 'serving certificate loaded');
  let { pair } = result;
  const listeners: (() => void)[] = [];
  const onRead = (newPair: KeyPair, certificate: X509Certificate): void => {
    if (isDeepStrictEqual(newPair, pair)) return;
    pair = newPair;
    logCertificate(options, certificate, 'serving certificate replaced');
    for (const listener of listeners) listener();
  };
  void readRepeatedly(options, onRead);
  return {
    current: () => pair,
    onChange: (listener) => void listeners.push(listener),
    expiries: () => [readExpiry('serving', pair.certificatePem, false)],
  };
}

/** Never rejects. */
async function readRepeatedly(
  options: CertificateFilesOptions,
  onRead: (pair: KeyPair, certificate: X509Certificate) => void,
): Promise<void> {
  const { certFile, log, signal, pollMs = POLL_MS, retryMs = RETRY_MS } = options;
  const problemLog = new ProblemLog(log);
  let changeController = new AbortController();
  signal.addEventListener('abort', () => changeController.abort(), { once: true });
  watchDirectories(options, () => changeController.abort());
  while (!signal.aborted) {
    // A change during a read causes another one. The first read also finds changes from before the watch.
    changeController = new AbortController();
    const result = await readPair(options);
    if (result.pair === undefined) {
      const { problem: reason } = result;
      problemLog.warn(`new serving certificate not usable; the previous one stays: ${reason}`, {
        reason,
        certFile,
      });
    } else {
      problemLog.clear();
      onRead(result.pair, result.certificate);
    }
    await sleep(problemLog.hasProblem ? Math.min(retryMs, pollMs) : pollMs, changeController.signal);
    await sleep(DEBOUNCE_MS, signal);
  }
}

/**
 * Watches the directories: in a Secret volume tls.crt links to ..data/tls.crt, and kubelet swaps the link
 * ..data. A watch on the file would follow both links, and fire for the first swap only.
 */
function watchDirectories(options: CertificateFilesOptions, onChange: () => void): void {
  const { certFile, keyFile, log, signal, watchDirectory = watch } = options;
  for (const directory of new Set([path.dirname(certFile), path.dirname(keyFile)])) {
    const onError = (err: unknown): void => {
      log.warn({ err, directory }, 'cannot watch the certificate directory; only polling finds changes');
    };
    try {
      watchDirectory(directory, { persistent: false, signal }, onChange).on('error', onError);
    } catch (error) {
      onError(error);
    }
  }
}

/** Never rejects. */
async function readPair({ certFile, keyFile }: CertificateFilesOptions): Promise<ReadResult> {
  const texts: string[] = [];
  for (const file of [certFile, keyFile]) {
    try {
      texts.push(await readFile(file, 'utf8'));
    } catch (error) {
      const { code = 'unreadable' } = error as NodeJS.ErrnoException;
      const isMissing = code === 'ENOENT';
      const problem = isMissing ? `${file} does not exist` : `${file} cannot be read: ${code}`;
      return { pair: undefined, problem, isMissing };
    }
  }
  const [certificatePem = '', privateKeyPem = ''] = texts;
  const pair = { certificatePem, privateKeyPem };
  const check = checkKeyPair(pair);
  try {
    if (!check.usable) throw new Error(check.reason);
    // Like the server, this reads the whole chain and rejects keys too short for OpenSSL.
    createSecureContext({ cert: certificatePem, key: privateKeyPem });
    return { pair, certificate: check.certificate };
  } catch (error) {
    const problem = `cannot serve with ${certFile} and ${keyFile}: ${(error as Error).message}`;
    return { pair: undefined, problem, isMissing: false };
  }
}

/** The guard also serves a certificate that is not valid now, because the clock may be wrong. */
function logCertificate(options: CertificateFilesOptions, certificate: X509Certificate, text: string): void {
  const { certFile, log, now = () => new Date() } = options;
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
