import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The bundle replaces this module by one that contains the page (build/bundle.ts). */
export function readCodesPage(): string {
  return readFileSync(path.join(import.meta.dirname, '..', '..', '..', 'docs', 'codes.md'), 'utf8');
}
