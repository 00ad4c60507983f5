import { lstat, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { OutputFile } from '../install/output-file.ts';
import { CliError, EXIT_CODE } from './exit.ts';

const PUBLIC_MODE = 0o644;
const SECRET_MODE = 0o600;
const MAX_LISTED_FILES = 4;

/** Explanations of Node's error codes. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it is a file, not a directory',
  ENOTDIR: 'a part of the path is a file, not a directory',
  ENOENT: 'a part of the path does not exist and cannot be made',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'the path is a loop of symbolic links',
};

/**
 * Creates the directory, and checks before any other work that it can take these files. Throws a CliError if it cannot,
 * or if a file exists and `overwrite` is false.
 */
export async function prepareOutputDirectory(
  directory: string,
  names: readonly string[],
  overwrite: boolean,
): Promise<void> {
  const existing: string[] = [];
  await explainErrors(directory, async () => {
    await mkdir(directory, { recursive: true });
    for (const name of names) {
      const file = path.join(directory, name);
      // lstat, because a dangling link counts: rename() replaces the link and never writes through it.
      const stats = await lstat(file).catch(ignoreMissing);
      if (stats?.isDirectory() === true) {
        throw new CliError(`${file} is a directory where a file is to be written; remove it.`, EXIT_CODE.usage);
      }
      if (stats !== undefined) existing.push(file);
    }
  });
  if (existing.length > 0 && !overwrite) throw new CliError(explainExisting(existing, names), EXIT_CODE.usage);
}

/**
 * Writes the files to a prepared directory. All files are complete in a staging directory before the first replaces an
 * old one, so a full disk or an interrupt leaves the old files. Secret files never have another mode than 0600.
 */
export async function writeOutputFiles(directory: string, files: readonly OutputFile[]): Promise<void> {
  await explainErrors(directory, async () => {
    // Inside the directory, because a rename does not work across file systems.
    const staging = await mkdtemp(path.join(directory, '.new-'));
    try {
      for (const { name, content, secret } of files) {
        await writeFile(path.join(staging, name), content, { mode: secret ? SECRET_MODE : PUBLIC_MODE, flag: 'wx' });
      }
      for (const { name } of files) await rename(path.join(staging, name), path.join(directory, name));
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  });
}

function explainExisting(existing: readonly string[], names: readonly string[]): string {
  const isLong = existing.length > MAX_LISTED_FILES;
  const listed = isLong ? `${existing.slice(0, 3).join(', ')} and ${existing.length - 3} more` : existing.join(', ');
  const all = names.length > MAX_LISTED_FILES ? `all ${names.length} files of the set` : `all of ${names.join(' ')}`;
  const verb = existing.length === 1 ? 'is' : 'are';
  return `${listed} ${verb} there already; use --force to replace ${all}, or another --out.`;
}

async function explainErrors(directory: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    const message = `${directory} cannot be written to: ${REASONS[code] ?? code}.`;
    throw new CliError(message, EXIT_CODE.usage, { cause: error });
  }
}

function ignoreMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
