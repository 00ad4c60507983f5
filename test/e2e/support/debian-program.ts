import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { cachePath, publish } from '../control-plane/cache.ts';

const run = promisify(execFile);

/** A program that a test needs and the project does not. */
export interface DebianProgram {
  readonly file: string;
  /** To be set for it: where the libraries are that came with it. */
  readonly env: NodeJS.ProcessEnv;
}

/**
 * A program from the path, else from the cache, else out of Debian packages (its own first, then those of its libraries), which are
 * unpacked into the cache and not installed.
 */
export async function debianProgram(program: string, packages: readonly [string, ...string[]]): Promise<DebianProgram> {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (existsSync(join(directory, program))) return { file: join(directory, program), env: process.env };
  }
  const root = cachePath('debian', packages[0]);
  if (!existsSync(root)) await unpack(packages, root);
  const libraries = await readdir(join(root, 'usr', 'lib')).catch(() => []);
  const paths = libraries.map((name) => join(root, 'usr', 'lib', name));
  return { file: join(root, 'usr', 'bin', program), env: { ...process.env, LD_LIBRARY_PATH: paths.join(delimiter) } };
}

async function unpack(packages: readonly string[], root: string): Promise<void> {
  await mkdir(dirname(root), { recursive: true });
  const directory = await mkdtemp(`${root}-`);
  try {
    const download = () => run('apt-get', ['download', ...packages], { cwd: directory });
    // Without its lists apt does not know where a package is.
    await download().catch(async () => {
      await run('apt-get', ['update']);
      await download();
    });
    const files = (await readdir(directory)).filter((name) => name.endsWith('.deb'));
    for (const file of files) await run('dpkg-deb', ['--extract', join(directory, file), join(directory, 'root')]);
    await publish(join(directory, 'root'), root, () => existsSync(root));
  } catch (error) {
    throw new Error(`It is not on the path, and apt-get cannot fetch the Debian packages ${packages.join(', ')}.`, {
      cause: error,
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}
