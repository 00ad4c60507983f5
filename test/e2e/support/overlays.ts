import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const MANIFESTS = fileURLToPath(new URL('../../../manifests', import.meta.url));

/** Names of all overlays. */
export const OVERLAYS = readdirSync(join(MANIFESTS, 'overlays')).sort();

/** The directory of an overlay, or another absolute path unchanged. */
export function overlay(name: string) {
  return resolve(MANIFESTS, 'overlays', name);
}
