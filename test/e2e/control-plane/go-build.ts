import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runOk } from '../support/process.ts';
import { fillCache } from './cache.ts';

/** This machine cannot run a control plane. The message is one sentence for a person. */
export class MissingControlPlaneError extends Error {
  override readonly name = 'MissingControlPlaneError';
}

export type Log = (line: string) => void;

/** A program, and its package in the module that is built. */
export interface Program {
  readonly name: string;
  readonly package: string;
}

interface Build {
  /** Folder with go.mod and go.sum, which the build does not change. */
  readonly module: string;
  readonly package: string;
  /** File of the binary. */
  readonly output: string;
  readonly ldflags?: string;
  /** More flags, which win over those of every build, such as -mod=mod. */
  readonly flags?: readonly string[];
}

/**
 * Builds a static binary.
 * @throws MissingControlPlaneError whose message ends with the output of `go build`
 */
export async function goBuild({ module, package: name, output, ldflags = '-s -w', flags = [] }: Build): Promise<void> {
  // With -mod=readonly a build never edits the pinned go.mod. The caller's GOFLAGS and go.work must not change that.
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', ldflags, '-o', output, ...flags, name];
  await runOk('go', args, { cwd: module, env }).catch((error: unknown) => {
    throw new MissingControlPlaneError((error as Error).message);
  });
}

/**
 * The folder with programs of a Go module: from the cache, or built with Go in minutes.
 * @param options `what`: the programs together, for messages. `programs`: in build order.
 *   `prepare`: makes the folder of the module. `folders`: of the module, which stay beside the programs
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findGoPrograms({
  directory,
  what,
  programs,
  prepare,
  folders = [],
  log,
  ...build
}: Pick<Build, 'ldflags' | 'flags'> & {
  readonly directory: string;
  readonly what: string;
  readonly programs: readonly Program[];
  readonly prepare: (module: string) => Promise<unknown>;
  readonly folders?: readonly string[];
  readonly log: Log;
}): Promise<string> {
  if (existsSync(directory)) return directory;
  await requireGo(`There is no ${what} to run on`);
  log(`Building the ${what} from its Go modules, once: up to 5 minutes on two cores.`);
  return fillCache(directory, async (unfinished) => {
    const module = join(unfinished, 'module');
    await prepare(module);
    for (const [index, program] of programs.entries()) {
      log(`[${index + 1}/${programs.length}] ${program.name} …`);
      await goBuild({ ...build, module, package: program.package, output: join(unfinished, program.name) });
    }
    for (const folder of folders) await rename(join(module, folder), join(unfinished, folder));
    await rm(module, { recursive: true });
  });
}

/** @throws MissingControlPlaneError with this problem and what to do, unless `go` is on the PATH */
export async function requireGo(problem: string) {
  await runOk('go', ['version']).catch(() => {
    throw new MissingControlPlaneError(`${problem}: install Go (https://go.dev/dl).`);
  });
}
