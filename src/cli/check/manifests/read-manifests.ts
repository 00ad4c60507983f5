import path from 'node:path';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { listDirectory } from '../../../files/list-directory.ts';
import { readRegularFile } from '../../../files/read-file.ts';

export interface ManifestFile {
  /** In the directory, such as `openshift/99-chrony.yaml`. */
  readonly path: string;
  readonly content?: Buffer;
  /** The rule about why no cluster gets the file. Empty if an installer merges it into another one. */
  readonly ignored?: string;
}

const MAX_FILES = 5_000;
/** An object in etcd has at most 1.5 MiB. */
const MAX_FILE_BYTES = 2 * 1024 ** 2;
const MAX_BYTES = 8 * 1024 ** 2;
const MANIFEST = /\.(?:ya?ml|json)$/;
const BUTANE = /\.(?:bu|fcc)$/;
/** Of the installer itself, beside the folders. */
const INSTALLER_FILE = /^(?:install-config\.yaml|agent-config\.yaml|\.openshift_install.*)$/s;
const PATCH = /\.ya?ml\.patch/;

/**
 * Reads `manifests/` and `openshift/` of a directory, or the directory itself if it has neither. Follows symbolic links
 * as installers do, and skips subdirectories.
 */
export async function* readManifests(directory: string, signal: AbortSignal): AsyncGenerator<ManifestFile> {
  const names = (await listDirectory(directory, MAX_FILES, signal)).map(({ name }) => name);
  const folders = names.filter((name) => name === 'manifests' || name === 'openshift');
  // `create manifests` removes it, and the agent-based installer has a file of its own.
  const isEarly = folders.length > 0 && names.includes('install-config.yaml') && !names.includes('agent-config.yaml');
  if (isEarly) yield { path: 'install-config.yaml', ignored: 'EarlyDirectory' };
  const files: ManifestFile[] = [];
  for (const folder of folders.length === 0 ? ['.'] : folders) {
    for (const entry of await listDirectory(path.join(directory, folder), MAX_FILES, signal)) {
      const { name } = entry;
      const file = path.join(folder, name);
      if (folder === '.' && INSTALLER_FILE.test(name)) continue;
      if (PATCH.test(name)) files.push({ path: file, ignored: '' });
      else if (MANIFEST.test(name)) files.push({ path: file });
      else if (name.startsWith('.')) continue;
      else if (entry.isDirectory() && folder !== '.') files.push({ path: file, ignored: 'IgnoredDirectory' });
      else if (entry.isFile()) files.push({ path: file, ignored: BUTANE.test(name) ? 'ButaneFile' : 'IgnoredFile' });
    }
  }
  let bytesLeft = MAX_BYTES;
  const paths = new Set(files.map((file) => file.path));
  for (const file of files.toSorted((a, b) => (path.basename(a.path) < path.basename(b.path) ? -1 : 1))) {
    if (file.ignored !== undefined) {
      yield file;
      continue;
    }
    const content = await readRegularFile(path.join(directory, file.path), MAX_FILE_BYTES, signal);
    bytesLeft -= content.length;
    if (bytesLeft < 0) throw new FileError(`${formatPath(directory)} has more than ${MAX_BYTES} bytes`);
    // The bootstrap host copies openshift/ over manifests/ (bootkube.sh).
    const isLost = file.path.startsWith('manifests/') && paths.has(file.path.replace('manifests', 'openshift'));
    yield { ...file, content, ...(isLost && { ignored: 'DuplicateFileName' }) };
  }
}

export function createEmptyError(directory: string): FileError {
  return new FileError(`${formatPath(directory)} contains no manifests; choose the directory of an installer`);
}
