import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { explainErrors, FileError, formatPath } from './file-error.ts';

/**
 * Lists the entries of a directory, or all below it, sorted by path. It follows no symbolic links.
 * @throws FileError if it is unreadable or has more than `maxEntries` entries; the signal's reason
 */
export async function listDirectory(
  directory: string,
  maxEntries: number,
  signal: AbortSignal,
  recursive = false,
): Promise<readonly Dirent[]> {
  const entries = new Map<string, Dirent>();
  const directories = [directory];
  signal.throwIfAborted();
  // Not opendir() with `recursive`: in Node.js 20 it omits the entries after the first 32 of a subdirectory.
  for (const path of directories) {
    await explainErrors(path, async () => {
      for await (const entry of await opendir(path)) {
        signal.throwIfAborted();
        if (entries.size === maxEntries)
          throw new FileError(`${formatPath(directory)} has more than ${maxEntries} files; choose another directory`);
        entries.set(join(path, entry.name), entry);
        if (recursive && entry.isDirectory()) directories.push(join(path, entry.name));
      }
    });
  }
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}
