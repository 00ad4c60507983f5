import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { explainErrors, FileError, formatPath } from './file-error.ts';

/**
 * Reads a regular file. A named pipe would block, and a device never ends.
 * @throws FileError if it is no regular file, unreadable or larger than `maxBytes`; the signal's reason
 */
export async function readRegularFile(file: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  return await explainErrors(file, async () => {
    // Without O_NONBLOCK, the open of a named pipe waits for its writer.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (stats.isFile()) return await readStream(handle.createReadStream(), formatPath(file), maxBytes, signal);
    await handle.close();
    const kind = stats.isDirectory() ? 'a directory' : 'not a regular file';
    throw new FileError(`cannot read ${formatPath(file)}: it is ${kind}`);
  });
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
      if (bytes > maxBytes) throw new FileError(`${source} has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks);
}
