import { rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A place for what is fetched or built once and kept for all later runs; it need not exist yet. */
export function cachePath(...names: readonly string[]): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'machineconfig-guard', ...names);
}

/** Two may work at the same time, each in a folder of its own; the first to finish is the one that everybody uses. */
export async function publish(unfinished: string, directory: string, isComplete: () => boolean): Promise<void> {
  try {
    await rename(unfinished, directory);
  } catch (error) {
    if (!isComplete()) throw error;
  }
}
