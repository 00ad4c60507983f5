import path from 'node:path';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { listDirectory } from '../../../files/list-directory.ts';
import { readRegularFile } from '../../../files/read-file.ts';
import type { ManifestFile } from './find-problems.ts';

const MAX_FILES = 5_000;
/** An object in etcd has at most 1.5 MiB. */
const MAX_FILE_BYTES = 2 * 1024 ** 2;
const MAX_BYTES = 8 * 1024 ** 2;
const MANIFEST = /\.(?:ya?ml|json)$/;
/** Of the installer itself. To assisted-service, the last one is a patch. */
const OTHER_FILE = /^(?:install-config\.yaml|agent-config\.yaml|\.openshift_install.*|.*\.ya?ml\.patch.*)$/s;

/**
 * Reads `manifests/` and `openshift/` of a directory, or the directory itself if it has neither. Follows symbolic links
 * as installers do, and skips subdirectories.
 *
 * @throws FileError if a file is unreadable, or there is too much to read; the signal's reason
 */
export async function* readManifests(directory: string, signal: AbortSignal): AsyncGenerator<ManifestFile> {
  const names = (await listDirectory(directory, MAX_FILES, signal)).map(({ name }) => name);
  const folders = names.filter((name) => name === 'manifests' || name === 'openshift');
  const paths: string[] = [];
  for (const folder of folders.length === 0 ? ['.'] : folders) {
    const entries = await listDirectory(path.join(directory, folder), MAX_FILES, signal);
    const files = entries.filter(
      (entry) => MANIFEST.test(entry.name) || (entry.isFile() && !entry.name.startsWith('.')),
    );
    paths.push(...files.filter(({ name }) => !OTHER_FILE.test(name)).map(({ name }) => path.join(folder, name)));
  }
  let bytesLeft = MAX_BYTES;
  for (const file of paths.toSorted((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1))) {
    const source = path.join(directory, file);
    const content = MANIFEST.test(file) ? await readRegularFile(source, MAX_FILE_BYTES, signal) : undefined;
    bytesLeft -= content?.length ?? 0;
    if (bytesLeft < 0) throw new FileError(`${formatPath(directory)} has more than ${MAX_BYTES} bytes`);
    yield { path: file, content };
  }
}
