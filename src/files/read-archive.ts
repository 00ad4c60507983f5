import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { FileError, formatPath } from './file-error.ts';
import { collect, openRegularFile } from './read-file.ts';

interface ArchivedFile {
  /** In the archive. */
  readonly path: string;
  readonly content: Buffer;
}

const ARCHIVE = /\.(?:tar|tar\.gz|tgz)$/;
/** Unpacked. The must-gather of a large cluster has some GB. */
const MAX_ARCHIVE_BYTES = 64 * 1024 ** 3;

export function isArchive(file: string): boolean {
  return ARCHIVE.test(file);
}

/**
 * Reads regular files of a tar archive, which can be compressed by gzip. Writes nothing to the disk.
 *
 * @param isWanted whether to read a file with this path and this number of bytes
 * @throws FileError if it is no complete archive, or unreadable; the signal's reason
 */
export async function* readArchive(
  file: string,
  isWanted: (path: string, bytes: number) => boolean,
  signal: AbortSignal,
): AsyncGenerator<ArchivedFile> {
  const { extract } = await import('tar-stream');
  const entries = extract();
  const handle = await openRegularFile(file);
  const unpack = file.endsWith('.tar') ? new PassThrough() : createGunzip();
  const unpacked = pipeline(handle.createReadStream(), unpack, entries, { signal });
  // The loop throws the same error.
  unpacked.catch(() => {});
  let bytesLeft = MAX_ARCHIVE_BYTES;
  try {
    for await (const entry of entries) {
      const { name, type, size } = entry.header;
      bytesLeft -= size;
      if (bytesLeft < 0) throw new FileError(`${formatPath(file)} unpacks to more than ${MAX_ARCHIVE_BYTES} bytes`);
      if (type === 'file' && isWanted(name, size)) {
        const content = await collect(entry as AsyncIterable<Buffer>, formatPath(file), size);
        yield { path: name, content };
      } else {
        entry.resume();
      }
    }
    await unpacked;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FileError) throw error;
    throw new FileError(`${formatPath(file)} is not a complete tar archive; copy it again`, { cause: error });
  }
}
