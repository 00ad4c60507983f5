import { type Dirent, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { explainErrors } from '../files/file-error.ts';
import type { OutputFile } from '../install/manifest.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** For the messages. */
export const WRITE = 'write to';

/** @throws FileError if a file cannot be written; CliError if it is a directory, or exists and `overwrite` is false */
export async function prepareOutputDirectory(directory: string, names: readonly string[], overwrite: boolean) {
  const entries = await createDirectory(directory);
  const existing = entries.filter(({ name }) => names.includes(name));
  const subdirectory = existing.find((entry) => entry.isDirectory());
  if (subdirectory !== undefined) {
    const file = path.join(directory, subdirectory.name);
    throw new CliError(`cannot write ${file}: it is a directory; remove it`, EXIT_CODE.usage);
  }
  if (existing.length === 0 || overwrite) return;
  const existClause = existing.length === 1 ? '1 file exists' : `${existing.length} files exist`;
  throw new CliError(`${existClause} in ${directory}; use --force to overwrite`, EXIT_CODE.usage);
}

export async function prepareEmptyDirectory(directory: string): Promise<void> {
  if ((await createDirectory(directory)).length === 0) return;
  throw new CliError(`${directory} is not empty; choose another directory`, EXIT_CODE.usage);
}

/** Creates a directory unless it exists. Returns what it contains, also dangling links. @throws FileError */
async function createDirectory(directory: string): Promise<readonly Dirent[]> {
  const create = async (): Promise<readonly Dirent[]> => {
    await createWithParents(path.resolve(directory));
    return await readdir(directory, { withFileTypes: true });
  };
  return await explainErrors(directory, create, WRITE);
}

/** Node's own `recursive` never ends where no directory can be created, such as below an automount point. */
async function createWithParents(directory: string): Promise<void> {
  if (existsSync(directory)) return;
  await createWithParents(path.dirname(directory));
  await mkdir(directory).catch((error: unknown) => {
    // Another program may have created it meanwhile.
    if (!existsSync(directory)) throw error;
  });
}

/** Stages all files first, so a full disk leaves the old files unchanged. Private key files have mode 0600. */
export async function writeOutputFiles(directory: string, files: readonly OutputFile[]): Promise<void> {
  await explainErrors(
    directory,
    async () => {
      // A rename does not work across file systems.
      const staging = await mkdtemp(path.join(directory, '.new-'));
      try {
        for (const { name, content, isPrivate } of files) {
          await writeFile(path.join(staging, name), content, { mode: isPrivate ? 0o600 : 0o644, flag: 'wx' });
        }
        for (const { name } of files) await rename(path.join(staging, name), path.join(directory, name));
      } finally {
        await rm(staging, { recursive: true, force: true });
      }
    },
    WRITE,
  );
}
