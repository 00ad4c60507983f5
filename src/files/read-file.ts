import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { explainErrors, FileError, formatPath } from './file-error.ts';

/**
 * Opens a regular file. A named pipe would block, and a device never ends.
 *
 * @throws FileError if it is no regular file, or unreadable
 */
export async function openRegularFile(file: string): Promise<FileHandle> {
  return await explainErrors(file, async () => {
    // Without O_NONBLOCK, the open of a named pipe waits for its writer.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (stats.isFile()) return handle;
    await handle.close();
    const kind = stats.isDirectory() ? 'a directory' : 'not a regular file';
    throw new FileError(`cannot read ${formatPath(file)}: it is ${kind}`);
  });
}

/** @throws FileError if it is no regular file, unreadable or larger than `maxBytes`; the signal's reason */
export async function readRegularFile(file: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  const handle = await openRegularFile(file);
  return await explainErrors(file, async () => {
    return await readStream(handle.createReadStream(), formatPath(file), maxBytes, signal);
  });
}

/**
 * Reads a stream to its end.
 *
 * @param source for messages
 * @throws FileError if it has more bytes; the signal's reason
 */
export async function readStream(
  stream: Readable,
  source: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  try {
    return await collect(addAbortSignal(signal, stream), source, maxBytes);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** @throws FileError if there are more bytes */
export async function collect(stream: AsyncIterable<Buffer>, source: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FileError(`${source} has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
