import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The text of a file of manifests/, named by its path there (`base/service.yaml`). Throws where there is none.
 *
 * The bundle has no manifests/ beside it: build/bundle.ts puts the files themselves in place of this module.
 */
export function readManifestFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, '..', '..', 'manifests', name), 'utf8');
}
