import { lstat, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KeyPair } from './key-pair.ts';

/** The files of a certificate directory: an authority and a leaf it signed. The names are a contract with scripts. */
export const CERTIFICATE_FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;

/** One of the four. */
export type CertificateFile = (typeof CERTIFICATE_FILES)[number];

const CERTIFICATE_MODE = 0o644;
const PRIVATE_KEY_MODE = 0o600;

/** The directory cannot take the files. The message is one sentence for a person; nothing was written. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
}

/**
 * Checks, before any key is made, that the four files can be written to `directory`, and creates it if need be. Throws a
 * DirectoryError that names what is in the way: files that are there already (unless `overwrite`), something that is not a file,
 * a directory that cannot be used.
 */
export async function prepareDirectory(directory: string, overwrite: boolean): Promise<void> {
  await saying(directory, () => makeDirectory(path.resolve(directory)));
  const present: string[] = [];
  for (const name of CERTIFICATE_FILES) {
    const file = path.join(directory, name);
    // lstat: a dangling link counts, and rename() will replace the link, never write through it.
    const stats = await saying(directory, () => lstatIfPresent(file));
    if (stats === undefined) continue;
    if (stats.isDirectory())
      throw new DirectoryError(`${file} is a directory where a file is to be written; remove it.`);
    present.push(file);
  }
  if (present.length > 0 && !overwrite) {
    const verb = present.length === 1 ? 'is' : 'are';
    throw new DirectoryError(
      `${present.join(', ')} ${verb} there already; use --force to replace all of ${CERTIFICATE_FILES.join(' ')}, or another --out.`,
    );
  }
}

/**
 * Writes both pairs and answers the paths. All four are complete in a directory of their own (mode 0700) before the first is
 * renamed into place, so a full disk or an interrupt while writing leaves what was there before. The keys have mode 0600 from the
 * moment they exist: they are created with it, and a rename brings the new file's mode along, whatever that of the old one was.
 * Throws a DirectoryError.
 */
export async function writeDirectory(
  directory: string,
  authority: KeyPair,
  leaf: KeyPair,
): Promise<Readonly<Record<CertificateFile, string>>> {
  const contents: Readonly<Record<CertificateFile, string>> = {
    'ca.crt': authority.certificatePem,
    'ca.key': authority.privateKeyPem,
    'tls.crt': leaf.certificatePem,
    'tls.key': leaf.privateKeyPem,
  };
  return await saying(directory, async () => {
    // Inside the target: a rename does not work across file systems.
    const staging = await mkdtemp(path.join(directory, '.new-'));
    try {
      for (const name of CERTIFICATE_FILES) {
        const mode = name.endsWith('.key') ? PRIVATE_KEY_MODE : CERTIFICATE_MODE;
        await writeFile(path.join(staging, name), contents[name], { mode, flag: 'wx' });
      }
      for (const name of CERTIFICATE_FILES) await rename(path.join(staging, name), path.join(directory, name));
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    return {
      'ca.crt': path.join(directory, 'ca.crt'),
      'ca.key': path.join(directory, 'ca.key'),
      'tls.crt': path.join(directory, 'tls.crt'),
      'tls.key': path.join(directory, 'tls.key'),
    };
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
    throw new DirectoryError(`${directory} cannot be written to: ${SENTENCES[code] ?? code}.`, { cause: error });
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
