import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ProblemLog } from '../kube/problem-log.ts';
import { sleep } from '../kube/wait.ts';

export interface FileFollowerOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly watchDirectory?: typeof watch;
  readonly pollMs?: number;
  readonly retryMs?: number;
}

/** How to read and describe a kind of content. */
export interface FollowedContent<Content> {
  readonly files: readonly string[];
  /**
   * Receives the texts of the files.
   *
   * @throws Error if they are unusable
   */
  readonly parse: (texts: readonly string[]) => Content;
  /** Such as `serving certificate`. */
  readonly noun: string;
  /** Logs a content with a text such as `serving certificate loaded`. */
  readonly logContent: (content: Content, text: string) => void;
}

/** The last usable content of files that can change at any time. */
export interface FollowedFiles<Content> {
  current(): Content;
  /** Calls the listener after each change of {@link current}. The listener must not throw. */
  onChange(listener: () => void): void;
}

/** Thrown if the files are unusable at startup. */
export class CertificateFilesError extends Error {
  override readonly name = 'CertificateFilesError';
}

type ReadResult<Content> =
  | { readonly isUsable: true; readonly content: Content }
  | { readonly isUsable: false; readonly problem: string; readonly isMissing: boolean };

/** Network file systems and replaced directories send no events. */
const POLL_MS = 30_000;
/** Replacing a Secret volume causes five events within a few milliseconds. */
const DEBOUNCE_MS = 100;
/** Unusable content is probably half-written, so it is read again soon. */
const RETRY_MS = 1_000;
/** The start does not retry a missing file. */
const START_RETRIES = 3;

/**
 * Reads files, and again after each change until the signal aborts. If a later content is unusable, the guard
 * logs it once, retries and keeps the last usable one.
 *
 * @throws CertificateFilesError if a file is missing, or the content is unusable for three seconds
 */
export async function followFiles<Content>(
  followed: FollowedContent<Content>,
  options: FileFollowerOptions,
): Promise<FollowedFiles<Content>> {
  const { noun, logContent } = followed;
  const { signal, retryMs = RETRY_MS } = options;
  let result = await readContent(followed);
  for (let retry = 0; !result.isUsable && !result.isMissing && retry < START_RETRIES; retry += 1) {
    await sleep(retryMs, signal);
    signal.throwIfAborted();
    result = await readContent(followed);
  }
  if (!result.isUsable) throw new CertificateFilesError(`${result.problem}.`);
  let { content } = result;
  logContent(content, `${noun} loaded`);
  const listeners: (() => void)[] = [];
  const onRead = (newContent: Content): void => {
    if (isDeepStrictEqual(newContent, content)) return;
    content = newContent;
    logContent(content, `${noun} replaced`);
    for (const listener of listeners) listener();
  };
  void readRepeatedly(followed, options, onRead);
  return {
    current: () => content,
    onChange: (listener) => void listeners.push(listener),
  };
}

/** Never rejects. */
async function readRepeatedly<Content>(
  followed: FollowedContent<Content>,
  options: FileFollowerOptions,
  onRead: (content: Content) => void,
): Promise<void> {
  const { files, noun } = followed;
  const { log, signal, pollMs = POLL_MS, retryMs = RETRY_MS } = options;
  const problemLog = new ProblemLog(log);
  let changeController = new AbortController();
  signal.addEventListener('abort', () => changeController.abort(), { once: true });
  watchDirectories(files, options, () => changeController.abort());
  while (!signal.aborted) {
    // A change during a read causes another one. The first read also finds changes from before the watch.
    changeController = new AbortController();
    const result = await readContent(followed);
    if (result.isUsable) {
      problemLog.clear();
      onRead(result.content);
    } else {
      const { problem: reason } = result;
      problemLog.warn(`new ${noun} not usable; the previous one stays: ${reason}`, { reason, file: files[0] });
    }
    await sleep(problemLog.hasProblem ? Math.min(retryMs, pollMs) : pollMs, changeController.signal);
    await sleep(DEBOUNCE_MS, signal);
  }
}

/**
 * Watches the directories: in a Secret volume tls.crt links to ..data/tls.crt, and kubelet swaps the link
 * ..data. A watch on the file would follow both links, and fire for the first swap only.
 */
function watchDirectories(
  files: readonly string[],
  { log, signal, watchDirectory = watch }: FileFollowerOptions,
  onChange: () => void,
): void {
  for (const directory of new Set(files.map((file) => path.dirname(file)))) {
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
async function readContent<Content>({ files, parse }: FollowedContent<Content>): Promise<ReadResult<Content>> {
  const texts: string[] = [];
  for (const file of files) {
    try {
      texts.push(await readFile(file, 'utf8'));
    } catch (error) {
      const { code = 'unreadable' } = error as NodeJS.ErrnoException;
      const isMissing = code === 'ENOENT';
      const problem = isMissing ? `${file} does not exist` : `${file} cannot be read: ${code}`;
      return { isUsable: false, problem, isMissing };
    }
  }
  try {
    return { isUsable: true, content: parse(texts) };
  } catch (error) {
    return { isUsable: false, problem: (error as Error).message, isMissing: false };
  }
}
