import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { formatMebibytes } from '../common/printable-text.ts';
import { explainError, explainErrors, FileError, formatPath } from './file-error.ts';

const MEBIBYTE = 1024 ** 2;
/** Without O_NONBLOCK, the open of a named pipe waits for its writer. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Reads a regular file. A named pipe would block, and a device never ends.
 * @throws FileError if it is no regular file, unreadable or larger than `maxBytes`; the signal's reason
 */
export async function readRegularFile(file: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  return await explainErrors(file, async () => {
    const handle = await open(file, FLAGS);
    const stats = await handle.stat();
    if (stats.isFile()) return await readStream(handle.createReadStream(), formatPath(file), maxBytes, signal);
    await handle.close();
    throw createKindError(file, stats);
  });
}

/** Like {@link readRegularFile}, for small local files that a constructor reads. It waits for no other process. */
export function readRegularFileSync(file: string, maxBytes: number): Buffer {
  try {
    const descriptor = openSync(file, FLAGS);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw createKindError(file, stats);
      // The files of /proc have no size.
      const content = stats.size > maxBytes ? undefined : readFileSync(descriptor);
      if (content === undefined || content.length > maxBytes) throw createSizeError(formatPath(file), maxBytes);
      return content;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw explainError(file, error);
  }
}

function createKindError(file: string, stats: Stats): FileError {
  const kind = stats.isDirectory() ? 'a directory' : 'not a regular file';
  return new FileError(`cannot read ${formatPath(file)}: it is ${kind}`);
}

function createSizeError(source: string, maxBytes: number): FileError {
  const limit = maxBytes < MEBIBYTE ? `${maxBytes} bytes` : formatMebibytes(maxBytes);
  return new FileError(`${source} has more than ${limit}`);
}

/**
 * Reads a stream to its end.
 * @param source for messages
 * @throws FileError if it has more bytes; the signal's reason
 */
export async function readStream(
  stream: Readable,
  source: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw createSizeError(source, maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks);
}
