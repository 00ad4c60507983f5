import { lstat, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A file to be written into a directory that the user named. */
export interface OutputFile<Name extends string = string> {
  readonly name: Name;
  readonly content: string;
  /** Readable by its owner alone. */
  readonly secret: boolean;
}

const PUBLIC_MODE = 0o644;
const SECRET_MODE = 0o600;

/** The directory cannot take the files. The message is one sentence for a person; nothing was written. */
export class OutputDirectoryError extends Error {
  override readonly name = 'DirectoryError';
}

/**
 * Checks, before any work is done, that files of these names can be written to `directory`, and creates it if need be. Throws a
 * DirectoryError that names what is in the way: files that are there already (unless `overwrite`), something that is not a file,
 * a directory that cannot be used.
 */
export async function prepareOutputDirectory(
  directory: string,
  names: readonly string[],
  overwrite: boolean,
): Promise<void> {
  await saying(directory, () => makeDirectory(path.resolve(directory)));
  const present: string[] = [];
  for (const name of names) {
    const file = path.join(directory, name);
    // lstat: a dangling link counts, and rename() will replace the link, never write through it.
    const stats = await saying(directory, () => lstatIfPresent(file));
    if (stats === undefined) continue;
    if (stats.isDirectory())
      throw new OutputDirectoryError(`${file} is a directory where a file is to be written; remove it.`);
    present.push(file);
  }
  if (present.length > 0 && !overwrite) throw new OutputDirectoryError(alreadyThere(present, names));
}

function alreadyThere(present: readonly string[], names: readonly string[]): string {
  const all = names.length > 4 ? `all ${names.length} files of the set` : `all of ${names.join(' ')}`;
  const shown =
    present.length > 4 ? `${present.slice(0, 3).join(', ')} and ${present.length - 3} more` : present.join(', ');
  const verb = present.length === 1 ? 'is' : 'are';
  return `${shown} ${verb} there already; use --force to replace ${all}, or another --out.`;
}

/**
 * Writes the files and answers their paths. All are complete in a directory of their own (mode 0700) before the first is renamed
 * into place, so a full disk or an interrupt while writing leaves what was there before. Secret ones have mode 0600 from the
 * moment they exist: they are created with it, and a rename brings the new file's mode along, whatever that of the old one was.
 * Throws a DirectoryError.
 */
export async function writeOutputFiles<Name extends string>(
  directory: string,
  files: readonly OutputFile<Name>[],
): Promise<Readonly<Record<Name, string>>> {
  return await saying(directory, async () => {
    // Inside the target: a rename does not work across file systems.
    const staging = await mkdtemp(path.join(directory, '.new-'));
    try {
      for (const { name, content, secret } of files) {
        await writeFile(path.join(staging, name), content, { mode: secret ? SECRET_MODE : PUBLIC_MODE, flag: 'wx' });
      }
      for (const { name } of files) await rename(path.join(staging, name), path.join(directory, name));
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    return Object.fromEntries(files.map(({ name }) => [name, path.join(directory, name)])) as Record<Name, string>;
  });
}

/**
 * mkdir -p. Not `mkdir(…, {recursive: true})`, which never returns (Node 20.20) where a parent exists and yet answers ENOENT, as
 * /proc does.
 */
async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return;
    const parent = path.dirname(directory);
    if (code !== 'ENOENT' || parent === directory) throw error;
    await makeDirectory(parent);
    await mkdir(directory);
  }
}

async function lstatIfPresent(file: string): Promise<Awaited<ReturnType<typeof lstat>> | undefined> {
  try {
    return await lstat(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function saying<T>(directory: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new OutputDirectoryError(`${directory} cannot be written to: ${SENTENCES[code] ?? code}.`, { cause: error });
  }
}

const SENTENCES: Readonly<Record<string, string>> = {
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

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
