import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { explainErrors, FileError, formatPath } from './file-error.ts';

export interface WalkLimits {
  readonly maxDepth: number;
  readonly maxEntries: number;
}

/**
 * Lists the entries of a directory, sorted by name.
 *
 * @throws FileError if it is unreadable or has more than `maxEntries` entries; the signal's reason
 */
export async function listDirectory(
  directory: string,
  maxEntries: number,
  signal: AbortSignal,
): Promise<readonly Dirent[]> {
  return await explainErrors(directory, async () => {
    const entries: Dirent[] = [];
    signal.throwIfAborted();
    for await (const entry of await opendir(directory)) {
      signal.throwIfAborted();
      if (entries.length === maxEntries) throw createTooManyError(directory, maxEntries);
      entries.push(entry);
    }
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  });
}

function createTooManyError(directory: string, maxEntries: number): FileError {
  return new FileError(`${formatPath(directory)} has more than ${maxEntries} files; choose another directory`);
}

/**
 * Finds the regular files below a directory. It follows no symbolic links, and skips subdirectories that are
 * unreadable or deeper than `maxDepth`.
 *
 * @throws FileError if the directory is unreadable, or if there are more than `maxEntries`; the signal's reason
 */
export async function* walkDirectory(
  directory: string,
  { maxDepth, maxEntries }: WalkLimits,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const pending = [{ path: directory, depth: 0 }];
  let entriesLeft = maxEntries;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { path, depth } = next;
    const entries = await listDirectory(path, entriesLeft, signal).catch((error: unknown) => {
      if (depth === 0 || !(error instanceof FileError)) throw error;
      if (error.cause !== undefined) return [];
      throw createTooManyError(directory, maxEntries);
    });
    entriesLeft -= entries.length;
    for (const entry of entries) if (entry.isFile()) yield join(path, entry.name);
    if (depth === maxDepth) continue;
    const directories = entries.filter((entry) => entry.isDirectory());
    pending.push(...directories.map(({ name }) => ({ path: join(path, name), depth: depth + 1 })).toReversed());
  }
}
