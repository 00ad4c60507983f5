import { lstatSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { explainErrors } from '../files/file-error.ts';
import type { OutputFile } from '../install/manifest.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** For the messages. */
export const WRITE = 'write to';

/** @throws FileError if a file cannot be written; CliError if it is a directory, or exists and `overwrite` is false */
export async function prepareOutputDirectory(directory: string, names: readonly string[], overwrite: boolean) {
  const existingFiles: string[] = [];
  await explainErrors(
    directory,
    async () => {
      await mkdir(directory, { recursive: true });
      for (const name of names) {
        const file = path.join(directory, name);
        // lstat also finds a dangling link, which rename() would replace.
        const stats = lstatSync(file, { throwIfNoEntry: false });
        if (stats?.isDirectory() === true) {
          throw new CliError(`cannot write ${file}: it is a directory; remove it`, EXIT_CODE.usage);
        }
        if (stats !== undefined) existingFiles.push(file);
      }
    },
    WRITE,
  );
  if (existingFiles.length === 0 || overwrite) return;
  const existClause = existingFiles.length === 1 ? '1 file exists' : `${existingFiles.length} files exist`;
  throw new CliError(`${existClause} in ${directory}; use --force to overwrite`, EXIT_CODE.usage);
}

export async function prepareEmptyDirectory(directory: string): Promise<void> {
  const names = await explainErrors(
    directory,
    async () => {
      await mkdir(directory, { recursive: true });
      return await readdir(directory);
    },
    WRITE,
  );
  if (names.length === 0) return;
  throw new CliError(`${directory} is not empty; choose another directory`, EXIT_CODE.usage);
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
