import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Reads the schemas of the kinds that a cluster has, one JSON object a line (`npm run schemas`). The bundle replaces
 * this module by one that contains the file compressed (build/bundle.ts).
 */
export function readSchemaFile(): string {
  return readFileSync(path.join(import.meta.dirname, 'schemas.jsonl'), 'utf8');
}
