import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The bundle replaces this module by one that contains the files (build/bundle.ts). */
export function readManifestFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, '..', '..', 'manifests', name), 'utf8');
}
