import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Reads a file of manifests/ by its path there, such as `base/service.yaml`. Throws if it does not exist.
 *
 * The bundle replaces this module by one that contains the files (build/bundle.ts).
 */
export function readManifestFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, '..', '..', 'manifests', name), 'utf8');
}
