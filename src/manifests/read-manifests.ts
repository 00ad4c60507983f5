import type { Dirent } from 'node:fs';
import path from 'node:path';
import { stat } from 'node:fs/promises';
import { explainErrors, FileError, formatPath } from '../files/file-error.ts';
import { listDirectory } from '../files/list-directory.ts';
import { readRegularFile, readStream } from '../files/read-file.ts';
import { parseStream } from '../files/yaml-stream.ts';
import { isRecord } from '../rendered-config/rendered-config.ts';

/**
 * Who reads the manifests: the agent-based installer, a hub or the Assisted installer from ConfigMaps, or whoever gets
 * the output of a program. Undefined if it is unknown.
 */
export type Installer = 'agent' | 'hub' | 'stream';

/** Why no cluster gets a file. */
export type IgnoredCode =
  | 'AgentIgnoresFile'
  | 'ButaneFile'
  | 'DuplicateFileName'
  | 'EarlyDirectory'
  | 'IgnoredFile'
  | 'KustomizationFile'
  | 'MisplacedManifest';

export interface ManifestFile {
  /** In the directory, such as `openshift/99-chrony.yaml`. */
  readonly path: string;
  readonly content?: Buffer;
  readonly ignored?: IgnoredCode | 'Patch';
  /** How many lines of the file precede the content. */
  readonly line?: number;
}

export interface ManifestInput {
  readonly installer: Installer | undefined;
  /** Whether files are in folders of an installer, or else in any directory. */
  readonly hasFolders: boolean;
  /** Sorted by name. */
  readonly files: readonly ManifestFile[];
  /** The install-config, which an installer removes later. */
  readonly installConfig: Readonly<Record<string, unknown>> | undefined;
}

const MAX_FILES = 5_000;
/** No API server and no installer takes more. */
const MAX_FILE_BYTES = 4 * 1024 ** 2;
const MAX_BYTES = 32 * 1024 ** 2;
export const MANIFEST = /\.(?:ya?ml|json)$/;
const AGENT_MANIFEST = /\.ya?ml$/;
const BUTANE = /\.(?:bu|fcc)$/;
/** Of the installer itself, beside the folders. */
const INSTALLER_FILE = /^(?:install-config\.yaml|agent-config\.yaml|\.openshift_install.*)$/s;
/** Of the agent-based installer: its configuration, and the objects of a hub that it reads. */
const AGENT_NAMES = ['agent-config.yaml', 'cluster-manifests'];
const KUSTOMIZATION = /^[Kk]ustomization(?:\.ya?ml)?$/;
const PATCH = /\.ya?ml\.patch/;
const FOLDERS: ReadonlySet<string> = new Set(['manifests', 'openshift']);
/** An object of Kubernetes, also in another file than a manifest. */
const OBJECT = /^(?:apiVersion|"apiVersion"|kind):/m;

/**
 * Reads what an installer reads: `manifests/` and `openshift/` of a directory, or the directory itself if it has
 * neither, or one file, or stdin (`-`). Follows symbolic links as installers do, and skips subdirectories.
 * @throws FileError if something is unreadable or too large; the signal's reason
 */
export async function readManifests(source: string, signal: AbortSignal): Promise<ManifestInput> {
  const single = { installer: undefined, hasFolders: false, installConfig: undefined };
  if (source === '-') {
    const content = await readStream(process.stdin, 'stdin', MAX_BYTES, signal);
    return { ...single, installer: 'stream', files: [{ path: 'stdin', content }] };
  }
  if (!(await explainErrors(source, () => stat(source))).isDirectory()) {
    const content = await readRegularFile(source, MAX_FILE_BYTES, signal);
    return { ...single, files: [{ path: path.basename(source), content }] };
  }
  return await readDirectory(source, signal);
}

async function readDirectory(directory: string, signal: AbortSignal): Promise<ManifestInput> {
  const entries = await listDirectory(directory, MAX_FILES, signal);
  const names = entries.map(({ name }) => name);
  const folders = names.filter((name) => FOLDERS.has(name));
  const hasFolders = folders.length > 0 || FOLDERS.has(path.basename(path.resolve(directory)));
  const isAgent = AGENT_NAMES.some((name) => names.includes(name));
  const found: ManifestFile[] = [];
  for (const folder of folders.length === 0 ? ['.'] : folders) {
    for (const entry of await listDirectory(path.join(directory, folder), MAX_FILES, signal)) {
      const file = path.join(folder, entry.name);
      const ignored = findIgnored(folder, entry, hasFolders, isAgent);
      if (ignored !== null) found.push({ path: file, ...(ignored && { ignored }) });
    }
  }
  let bytesLeft = MAX_BYTES;
  const read = async (file: string): Promise<Buffer> => {
    const content = await readRegularFile(path.join(directory, file), MAX_FILE_BYTES, signal);
    bytesLeft -= content.length;
    if (bytesLeft < 0) throw new FileError(`${formatPath(directory)} has more than ${MAX_BYTES} bytes`);
    return content;
  };
  const files: ManifestFile[] = [];
  const isEarly = names.includes('install-config.yaml');
  const installConfig = isEarly ? parseInstallConfig(await read('install-config.yaml')) : undefined;
  // `create manifests` removes it, and the agent-based installer has a file of its own.
  if (isEarly && folders.length > 0 && !isAgent) files.push({ path: 'install-config.yaml', ignored: 'EarlyDirectory' });
  for (const { name } of folders.length === 0 ? [] : entries.filter((entry) => entry.isFile())) {
    const isManifest = MANIFEST.test(name) && !INSTALLER_FILE.test(name) && !KUSTOMIZATION.test(name);
    if (isManifest && OBJECT.test((await read(name)).toString()))
      files.push({ path: name, ignored: 'MisplacedManifest' });
  }
  const paths = new Set(found.map((file) => file.path));
  for (const file of found.toSorted((a, b) => (path.basename(a.path) < path.basename(b.path) ? -1 : 1))) {
    // The bootstrap host copies openshift/ over manifests/ (bootkube.sh).
    const isLost = file.path.startsWith('manifests/') && paths.has(file.path.replace('manifests', 'openshift'));
    if (file.ignored !== undefined) files.push(file);
    else
      files.push({ ...file, content: await read(file.path), ...(isLost && { ignored: 'DuplicateFileName' as const }) });
  }
  return { installer: isAgent ? 'agent' : undefined, hasFolders, files, installConfig };
}

/** Undefined if the installer does not read it either. */
function parseInstallConfig(content: Buffer): ManifestInput['installConfig'] {
  const { value } = parseStream(content, 'install-config.yaml').inCluster;
  return isRecord(value) ? value : undefined;
}

/** Why no cluster gets the file. Undefined if one gets it, null if the file does not matter. */
function findIgnored(
  folder: string,
  entry: Dirent,
  hasFolders: boolean,
  isAgent: boolean,
): ManifestFile['ignored'] | null | undefined {
  const { name } = entry;
  if (folder === '.' && INSTALLER_FILE.test(name)) return null;
  if (PATCH.test(name)) return 'Patch';
  if (!hasFolders && KUSTOMIZATION.test(name)) return 'KustomizationFile';
  // The agent-based installer reads no other folder and no JSON (pkg/asset/agent/manifests/extramanifests.go).
  if (isAgent && MANIFEST.test(name) && (folder === 'manifests' || !AGENT_MANIFEST.test(name)))
    return 'AgentIgnoresFile';
  if (MANIFEST.test(name)) return undefined;
  if (name.startsWith('.')) return null;
  if (entry.isDirectory()) return folder === '.' ? null : 'IgnoredFile';
  if (!entry.isFile()) return null;
  return BUTANE.test(name) ? 'ButaneFile' : 'IgnoredFile';
}

export function createEmptyError(source: string): FileError {
  if (source === '-') return new FileError('stdin contains no manifests; did the program before the pipe fail?');
  return new FileError(
    `${formatPath(source)} contains no manifests; choose the directory of an installer, with openshift/ or manifests/`,
  );
}
