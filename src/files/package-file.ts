import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Reads a file of docs/ or manifests/ by its path in the repository. The bundle replaces this module by one that
 * contains the files (build/bundle.ts).
 */
export function readPackageFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, '..', '..', name), 'utf8');
}
