import { getSystemErrorMap } from 'node:util';
import { toPrintableLine } from '../common/printable-text.ts';

/** A file is unusable. The message is printable, and contains nothing of the content. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; check its owner and mode',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  ENOENT: 'it does not exist',
  ENOTDIR: 'it is not a directory',
};

/** The path for a message. The name of a file can contain anything but a slash. */
export function formatPath(path: string): string {
  return toPrintableLine(path);
}

/** @throws FileError instead of an error of the file system */
export async function explainErrors<T>(file: string, access: () => Promise<T>, verb = 'read'): Promise<T> {
  try {
    return await access();
  } catch (error) {
    throw explainError(file, error, verb);
  }
}

/** @returns a FileError for an error of the file system, and any other error unchanged */
export function explainError(file: string, error: unknown, verb = 'read'): unknown {
  const { code = '', errno = 0 } = error as NodeJS.ErrnoException;
  const [, reason] = getSystemErrorMap().get(errno) ?? [];
  if (reason === undefined) return error;
  return new FileError(`cannot ${verb} ${formatPath(file)}: ${REASONS[code] ?? reason}`, { cause: error });
}
