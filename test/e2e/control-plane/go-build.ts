import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { cachePath } from './cache.ts';
import { MissingControlPlaneError } from './missing-control-plane-error.ts';
import type { ProcessReaper } from './process-reaper.ts';

export interface GoBuildOptions {
  /** Folder with go.mod and go.sum. The build changes neither. */
  readonly module: string;
  readonly package: string;
  /** File of the binary. */
  readonly output: string;
  readonly ldflags: string;
  readonly reaper: ProcessReaper;
}

/**
 * Builds a static binary.
 *
 * @throws MissingControlPlaneError whose message ends with the output of `go build`
 */
export function goBuild({
  module,
  package: goPackage,
  output,
  ldflags,
  reaper,
}: GoBuildOptions): Promise<void> {
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', ldflags, '-o', output, goPackage];
  // With -mod=readonly a build never edits the pinned go.mod. The caller's GOFLAGS and go.work must not change that.
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
  return new Promise<void>((resolve, reject) => {
    const child = spawn('go', args, { cwd: module, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const { pid } = child;
    if (pid !== undefined) reaper.watch(pid);
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-4000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (pid !== undefined) reaper.forget(pid);
      if (code === 0) resolve();
      else
        reject(
          new MissingControlPlaneError(
            `go build failed for ${goPackage}: ${stderr.trim() || `exit code ${code}`}`,
          ),
        );
    });
  });
}

/** Whether `go` is on the PATH. */
export async function hasGo(): Promise<boolean> {
  try {
    await promisify(execFile)('go', ['version']);
    return true;
  } catch {
    return false;
  }
}

/** A path in the cache that changes with the content of the sources, so that an outdated build is never used. */
export async function cachedBuild(kind: string, name: string, sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of sources) hash.update(await readFile(file));
  return cachePath(kind, `${name}-${hash.digest('hex').slice(0, 16)}`);
}
