import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readPackageFile } from '../files/package-file.ts';
import type { Manifest } from './manifest.ts';

interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly labels?: readonly { readonly pairs: Readonly<Record<string, string>> }[];
  readonly patches?: readonly { readonly target?: Target; readonly path: string }[];
}

interface Target {
  readonly kind: string;
  readonly name: string;
}

/** A strategic merge patch. Those in manifests/ delete the object, or only need that it exists. */
interface ObjectPatch {
  readonly kind: string;
  readonly metadata: Pick<Target, 'name'>;
  readonly $patch?: 'delete';
}

interface Operation {
  readonly op: 'add' | 'replace' | 'remove' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/**
 * Builds the objects of directories of manifests/ as `kustomize build` does. Patches apply to the objects of
 * their own directory and of the directories before it.
 */
export function buildManifests(directories: readonly string[]): Manifest[] {
  const manifests: Manifest[] = [];
  for (const directory of directories) applyDirectory(manifests, directory);
  return manifests;
}

function applyDirectory(manifests: Manifest[], directory: string): void {
  const resolve = (name: string): string => path.posix.join(directory, name);
  const readFile = (name: string): string => readPackageFile(`manifests/${resolve(name)}`);
  const kustomization = parse(readFile('kustomization.yaml')) as Kustomization;
  const { resources = [], components = [], labels = [], patches = [] } = kustomization;
  for (const resource of resources) {
    if (resource.endsWith('.yaml')) manifests.push(...parseManifests(readFile(resource)));
    else applyDirectory(manifests, resolve(resource));
  }
  for (const component of components) applyDirectory(manifests, resolve(component));
  for (const { pairs } of labels) for (const manifest of manifests) setMetadata(manifest, 'labels', pairs);
  for (const { target, path: file } of patches) {
    const patch = parse(readFile(file)) as readonly Operation[] | ObjectPatch;
    const { kind, metadata } = patch as ObjectPatch;
    const wanted = target ?? { kind, ...metadata };
    const index = manifests.findIndex((candidate) => {
      return candidate.get('kind') === wanted.kind && candidate.getIn(['metadata', 'name']) === wanted.name;
    });
    const manifest = manifests[index];
    if (manifest === undefined) throw new Error(`${directory}: there is no ${wanted.kind} ${wanted.name}`);
    if (!('kind' in patch)) for (const operation of patch) applyOperation(manifest, operation);
    else if (patch.$patch === 'delete') manifests.splice(index, 1);
  }
}

function parseManifests(text: string): Manifest[] {
  // This schema quotes strings that YAML 1.1 or 1.2 reads as another type.
  const documents = [...parseAllDocuments(text, { schema: 'yaml-1.1' })] as Manifest[];
  for (const { directives } of documents) {
    // Each document becomes a file without `---`.
    if (directives !== undefined) directives.docStart = null;
  }
  return documents;
}

export function setMetadata(
  manifest: Manifest,
  field: 'annotations' | 'labels',
  pairs: Readonly<Record<string, string>>,
): void {
  const keys = ['metadata', field];
  // Without it, this schema would create an ordered map.
  if (!manifest.hasIn(keys)) manifest.setIn(keys, manifest.createNode({}));
  for (const [key, value] of Object.entries(pairs)) manifest.setIn([...keys, key], value);
}

function applyOperation(manifest: Manifest, { op, path: pointer, value }: Operation): void {
  const keys = pointer.split('/').slice(1).map(decodeKey);
  if (keys.at(-1) === '-') manifest.addIn(keys.slice(0, -1), manifest.createNode(value));
  // As in kustomize, a patch of a missing field is an error.
  else if (op !== 'add' && !manifest.hasIn(keys)) throw new Error(`there is no ${pointer} to ${op}`);
  else if (op === 'test') {
    if (manifest.getIn(keys) !== value) throw new Error(`testing value ${pointer} failed`);
  } else if (op === 'remove') manifest.deleteIn(keys);
  else manifest.setIn(keys, manifest.createNode(value));
}

function decodeKey(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key.replaceAll('~1', '/').replaceAll('~0', '~');
}
