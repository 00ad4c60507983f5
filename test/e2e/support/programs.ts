import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../cli/run-program.ts';
import { cachePath, fillCache } from '../control-plane/cache.ts';
import { runOk } from './process.ts';

/** The bundle. */
export const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const CONTAINERFILE = fileURLToPath(new URL('../../../Containerfile', import.meta.url));

/**
 * Runs a command from its source, in this process, because a start of the bundle takes long. Returns its standard
 * output.
 * @throws Error unless the exit code is 0
 */
export async function runProgramOk(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runProgram(args);
  if (exitCode === 0) return stdout;
  throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`);
}

/** The environment variables of the image. The tests run the guard with them, as a cluster does. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const variables = readFileSync(CONTAINERFILE, 'utf8').matchAll(/^ENV (\w+)="?([^"\n]+)"?$/gm);
  return Object.fromEntries([...variables].map(([, name, value]) => [name, value])) as Record<string, string>;
}

/**
 * Finds a program on the PATH, or unpacks its Debian packages into the cache. Returns its file, and the
 * environment in which it finds its libraries.
 * @param packages the package of the program, then those of its libraries
 * @throws Error if apt-get cannot fetch the packages
 */
export async function debianProgram(program: string, packages: readonly [string, ...string[]]) {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (existsSync(join(directory, program))) return { file: join(directory, program), env: process.env };
  }
  const root = await fillCache(cachePath('debian', packages[0]), (unfinished) => unpack(packages, unfinished));
  const libraries = await readdir(join(root, 'usr', 'lib')).catch(() => []);
  const paths = libraries.map((name) => join(root, 'usr', 'lib', name));
  return {
    file: join(root, 'usr', 'bin', program),
    env: { ...process.env, LD_LIBRARY_PATH: paths.join(delimiter) },
  };
}

async function unpack(packages: readonly string[], directory: string) {
  const download = () => runOk('apt-get', ['download', ...packages], { cwd: directory });
  // Without its lists apt does not know where a package is.
  await download().catch(async () => {
    await runOk('apt-get', ['update']);
    await download();
  });
  for (const file of (await readdir(directory)).filter((name) => name.endsWith('.deb'))) {
    await runOk('dpkg-deb', ['--extract', file, '.'], { cwd: directory });
    await rm(join(directory, file));
  }
}
