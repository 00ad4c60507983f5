import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { cachePath } from './cache.ts';
import type { Leash } from './leash.ts';

/** Go could not build; the message ends with what it said. */
export class GoBuildFailed extends Error {
  override readonly name = 'GoBuildFailed';
}

export interface GoBuildOptions {
  /** Folder with go.mod and go.sum, neither of which is changed. */
  readonly module: string;
  readonly package: string;
  /** File of the binary. */
  readonly output: string;
  readonly ldflags: string;
  /** Ends the build when this process ends. */
  readonly leash: Leash;
}

/** Builds a static binary. Throws {@link GoBuildFailed}. */
export function goBuild({ module, package: goPackage, output, ldflags, leash }: GoBuildOptions): Promise<void> {
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', ldflags, '-o', output, goPackage];
  // -mod=readonly: a build never edits the pinned go.mod; the caller's own GOFLAGS or go.work must not change that.
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
  return new Promise<void>((resolve, reject) => {
    const child = spawn('go', args, { cwd: module, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const { pid } = child;
    if (pid !== undefined) leash.hold(pid);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (pid !== undefined) leash.release(pid);
      if (code === 0) resolve();
      else reject(new GoBuildFailed(`go build failed for ${goPackage}: ${said.trim() || `exit code ${code}`}`));
    });
  });
}

/** Whether there is a `go` on the path. */
export async function hasGo(): Promise<boolean> {
  try {
    await promisify(execFile)('go', ['version']);
    return true;
  } catch {
    return false;
  }
}

/** Where binaries are kept that were built from those files: a changed file never runs yesterday's binaries. */
export async function cachedBuild(kind: string, name: string, builtFrom: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of builtFrom) hash.update(await readFile(file));
  return cachePath(kind, `${name}-${hash.digest('hex').slice(0, 16)}`);
}
