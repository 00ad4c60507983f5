import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ProcessReaper } from './process-reaper.ts';

/** A path below the cache for files that are fetched or built once. It need not exist yet. */
export function cachePath(...names: readonly string[]) {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'machineconfig-guard', ...names);
}

/**
 * Makes a folder of the cache unless it exists, and returns it. It gets its name only when it is complete. If two
 * processes make it at the same time, the first one wins.
 * @param fill puts the files into an unfinished folder, which is removed if this process is killed
 */
export async function fillCache(directory: string, fill: (unfinished: string) => Promise<void>): Promise<string> {
  if (existsSync(directory)) return directory;
  await mkdir(dirname(directory), { recursive: true });
  const unfinished = await mkdtemp(`${directory}.unfinished-`);
  const reaper = new ProcessReaper(unfinished);
  try {
    await fill(unfinished);
    await rename(unfinished, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
    return directory;
  } finally {
    await reaper.reap();
  }
}
