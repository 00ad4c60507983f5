import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { cachePath, fillCache } from './cache.ts';
import { requireGo } from './go-build.ts';
import { MissingControlPlaneError } from './missing-control-plane-error.ts';

/** Its go.sum has the checksum of every module that is downloaded here. Go verifies it. */
export const CHECKSUMS = fileURLToPath(new URL('modules', import.meta.url));

/** Files of a Go module. */
export interface ModuleFiles {
  /** Path and version, such as `github.com/openshift/api@v0.0.0-…`. */
  readonly module: string;
  /** Paths in the module. Their last parts differ. */
  readonly files: readonly string[];
}

/**
 * The text of each file, from the cache or from the module proxy.
 *
 * @throws MissingControlPlaneError if the files are neither in the cache nor can be downloaded
 */
export async function readModuleFiles({ module, files }: ModuleFiles) {
  // Projects can need different files of one module.
  const hash = createHash('sha256').update(files.join()).digest('hex').slice(0, 8);
  const directory = cachePath('modules', `${module.replaceAll('/', '_')}-${hash}`);
  if (!existsSync(directory)) await download(module, files, directory);
  return Promise.all(files.map((file) => readFile(join(directory, basename(file)), 'utf8')));
}

async function download(module: string, files: readonly string[], directory: string) {
  await requireGo(`The cache has no CRDs of ${module}`);
  const source = await downloadModule(module);
  await fillCache(directory, async (unfinished) => {
    for (const file of files) await copyFile(join(source, file), join(unfinished, basename(file)));
  });
}

/**
 * Downloads a module whose checksum is pinned, and returns its read-only folder.
 *
 * @throws MissingControlPlaneError if Go cannot download it
 */
export async function downloadModule(module: string): Promise<string> {
  const command = promisify(execFile)('go', ['mod', 'download', '-json', module], { cwd: CHECKSUMS });
  const { stdout } = await command.catch((error: unknown) => {
    throw new MissingControlPlaneError(
      `Go cannot download ${module}: ${(error as { readonly stdout: string }).stdout}`,
    );
  });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}
