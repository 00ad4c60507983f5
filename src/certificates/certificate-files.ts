import { createHash, type X509Certificate } from 'node:crypto';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { checkKeyPair } from './key-pair.ts';
import { readValidity } from './renewal.ts';
import { type Expiry, readExpiry, type ServingCertificate, type ServingPair } from './serving-certificate.ts';

/** How often the files are read without any sign of a change: network file systems and replaced directories send none. */
const POLL_MS = 30_000;

/** A Secret volume swap is five events within a few milliseconds, cp of two files not many more. */
const DEBOUNCE_MS = 100;

/** How soon a pair that does not fit is read again: whoever writes it is probably between its two files. */
const RETRY_MS = 1_000;

/** How many times {@link RETRY_MS} the start waits for a pair that does not fit. A missing file is not waited for. */
const START_RETRIES = 3;

/** What {@link watchCertificateFiles} reads, and how. */
export interface CertificateFilesOptions {
  /** PEM; a chain starts with the serving certificate. */
  readonly certFile: string;
  /** PEM, not encrypted. */
  readonly keyFile: string;
  readonly log: Logger;
  /** Ends the watching. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  /** Calls `changed` whenever something in `directory` may have changed, until the signal. May throw where that is not possible. */
  readonly watchDirectory?: WatchDirectory;
  readonly pollMs?: number;
  readonly retryMs?: number;
}

/** See {@link CertificateFilesOptions}. */
export type WatchDirectory = (
  directory: string,
  changed: () => void,
  failed: (error: unknown) => void,
  signal: AbortSignal,
) => void;

/** The files cannot be served from at start. The message is one sentence for a person. */
export class CertificateFilesError extends Error {
  override readonly name = 'CertificateFilesError';
}

type Reading =
  | {
      readonly usable: true;
      readonly pair: ServingPair;
      readonly certificate: X509Certificate;
      readonly digest: string;
    }
  | { readonly usable: false; readonly reason: string; readonly missing: boolean; readonly digest: string };

/**
 * The serving certificate in two files, read again whenever they change. Resolves once the first pair is read. Throws a
 * CertificateFilesError if a file is missing, or if the two still do not fit together after {@link START_RETRIES} seconds.
 *
 * Later nothing is thrown: a pair that is missing, half-written or made of two generations is logged once, the last good one goes
 * on serving, and the files are tried again. Nothing stale can stay for longer than one poll: events only make it sooner.
 */
export async function watchCertificateFiles(options: CertificateFilesOptions): Promise<ServingCertificate> {
  const { signal, retryMs = RETRY_MS } = options;
  let reading = await read(options);
  for (let retry = 0; !reading.usable && !reading.missing && retry < START_RETRIES; retry += 1) {
    await delay(retryMs, undefined, { signal });
    reading = await read(options);
  }
  if (!reading.usable) throw new CertificateFilesError(`${reading.reason}.`);
  const files = new WatchedFiles(options, reading.pair, reading.digest);
  announce(options, reading.certificate, 'serving certificate loaded');
  void files.watch();
  return files;
}

class WatchedFiles implements ServingCertificate {
  readonly #options: CertificateFilesOptions;
  readonly #listeners: (() => void)[] = [];
  #pair: ServingPair;
  #digest: string;
  /** What was last complained about, so that a broken pair that stays is one line and not one a second. */
  #rejected: string | undefined;
  #changed = false;
  #wake: () => void = () => {};

  constructor(options: CertificateFilesOptions, pair: ServingPair, digest: string) {
    this.#options = options;
    this.#pair = pair;
    this.#digest = digest;
  }

  current(): ServingPair {
    return this.#pair;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  expiries(): readonly Expiry[] {
    return [readExpiry('serving', this.#pair.cert, false)];
  }

  /** Runs until the signal. Never rejects. */
  async watch(): Promise<void> {
    const { signal, pollMs = POLL_MS, retryMs = RETRY_MS } = this.#options;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    this.#watchDirectories();
    // Between the first read and the watch being in place a change goes unseen: look once more.
    this.#changed = true;
    while (!signal.aborted) {
      await this.#changeOrTimeout(this.#rejected === undefined ? pollMs : Math.min(retryMs, pollMs));
      if (signal.aborted) return;
      // Cleared before the read, never after it: an event that arrives while the files are being read starts another round.
      this.#changed = false;
      await this.#reload();
    }
  }

  /**
   * The directories, not the files: in a Secret volume tls.crt is a link to ..data/tls.crt and ..data a link that kubelet swaps. A
   * watch on the file follows both, ends up on the old generation's inode, and fires for the first swap only.
   */
  #watchDirectories(): void {
    const { certFile, keyFile, log, signal, watchDirectory = watchWithFs } = this.#options;
    for (const directory of new Set([path.dirname(certFile), path.dirname(keyFile)])) {
      const failed = (err: unknown): void => {
        log.warn({ err, directory }, 'certificate directory cannot be watched; changes are found by the poll alone');
      };
      try {
        watchDirectory(directory, () => this.#notice(), failed, signal);
      } catch (err) {
        failed(err);
      }
    }
  }

  #notice(): void {
    this.#changed = true;
    this.#wake();
  }

  async #changeOrTimeout(timeoutMs: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#changed) await quietly(timeoutMs, woken.signal);
    if (this.#changed) await quietly(DEBOUNCE_MS, this.#options.signal);
  }

  async #reload(): Promise<void> {
    const { certFile, log } = this.#options;
    const reading = await read(this.#options);
    if (!reading.usable) {
      if (reading.digest !== this.#rejected) {
        log.warn({ reason: reading.reason, certFile }, 'new serving certificate not usable; the previous one stays');
      }
      this.#rejected = reading.digest;
      return;
    }
    this.#rejected = undefined;
    if (reading.digest === this.#digest) return;
    this.#digest = reading.digest;
    this.#pair = reading.pair;
    announce(this.#options, reading.certificate, 'serving certificate replaced');
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (err) {
        log.error({ err, certFile }, 'new serving certificate could not be put to use');
      }
    }
  }
}

/** Reads both files as one pair. Never throws; a file that cannot be read is a reading too. */
async function read({ certFile, keyFile }: CertificateFilesOptions): Promise<Reading> {
  let cert: string;
  let key: string;
  let file = certFile;
  try {
    cert = await readFile(file, 'utf8');
    file = keyFile;
    key = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    const missing = code === 'ENOENT';
    const reason = missing ? `${file} does not exist` : `${file} cannot be read: ${code}`;
    return { usable: false, reason, missing, digest: reason };
  }
  const digest = createHash('sha256').update(cert).update('\0').update(key).digest('hex');
  const rejected = (why: string): Reading => ({
    usable: false,
    reason: `${certFile} and ${keyFile} cannot be served with: ${why}`,
    missing: false,
    digest,
  });
  const check = checkKeyPair({ certificatePem: cert, privateKeyPem: key });
  if (!check.usable) return rejected(check.reason);
  try {
    // What the server will do with them. It also reads the rest of the chain, and refuses keys that OpenSSL holds for too short.
    createSecureContext({ cert, key });
  } catch (error) {
    return rejected(error instanceof Error ? error.message : String(error));
  }
  return { usable: true, pair: { cert, key }, certificate: check.certificate, digest };
}

/**
 * Says what is served from now on. One that is not valid now is served all the same: refusing to start would not make the API
 * server any happier, and the clock may be what is wrong.
 */
function announce(
  { log, certFile, now = () => new Date() }: CertificateFilesOptions,
  certificate: X509Certificate,
  event: string,
): void {
  const { notBefore, notAfter } = readValidity(certificate);
  const fields = {
    certFile,
    names: certificate.subjectAltName,
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    fingerprint256: certificate.fingerprint256,
  };
  log.info(fields, event);
  const time = now();
  if (time > notAfter) log.warn(fields, 'serving certificate has expired; the API server will refuse it');
  else if (time < notBefore) log.warn(fields, 'serving certificate is not valid yet; the API server will refuse it');
}

const watchWithFs: WatchDirectory = (directory, changed, failed, signal) => {
  watch(directory, { persistent: false, signal }, changed).on('error', failed);
};

/** Waits for the time or the signal, whichever comes first, without keeping the process alive. */
async function quietly(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
