import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { MissingControlPlaneError } from './missing-control-plane-error.ts';
import type { ProcessReaper } from './process-reaper.ts';

const run = promisify(execFile);

/**
 * Builds a static binary.
 *
 * @param build `module`: folder with go.mod and go.sum, which the build does not change. `output`: file of
 *   the binary. `flags`: more flags, which win over those of every build, such as -mod=mod
 * @throws MissingControlPlaneError whose message ends with the output of `go build`
 */
export async function goBuild(build: {
  readonly module: string;
  readonly package: string;
  readonly output: string;
  readonly ldflags: string;
  readonly flags?: readonly string[];
  readonly reaper: ProcessReaper;
}): Promise<void> {
  const { ldflags, output, flags: moreFlags = [] } = build;
  const flags = ['-trimpath', '-buildvcs=false', '-ldflags', ldflags, '-o', output, ...moreFlags];
  // With -mod=readonly a build never edits the pinned go.mod. The caller's GOFLAGS and go.work must not
  // change that.
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
  const running = run('go', ['build', ...flags, build.package], { cwd: build.module, env });
  const { pid } = running.child;
  if (pid !== undefined) build.reaper.watch(pid);
  try {
    await running;
  } catch (error) {
    throw new MissingControlPlaneError((error as Error).message);
  } finally {
    if (pid !== undefined) build.reaper.forget(pid);
  }
}

/** @throws MissingControlPlaneError with this problem and what to do, unless `go` is on the PATH */
export async function requireGo(problem: string, alternative = '') {
  await run('go', ['version']).catch(() => {
    throw new MissingControlPlaneError(`${problem}: install Go (https://go.dev/dl)${alternative}.`);
  });
}
