import path from 'node:path';
import { isCollection, parse, parseAllDocuments } from 'yaml';
import { readManifestFile } from './manifest-files.ts';
import type { Manifest } from './manifest.ts';

/** The part of kustomization.yaml that manifests/ uses. */
interface Kustomization {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resources?: readonly string[];
  readonly patches?: readonly Patch[];
}

interface Patch {
  readonly target: { readonly kind: string; readonly name: string };
  readonly path: string;
}

/** An operation of a JSON patch (RFC 6902). */
interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

const SUPPORTED_KEYS = new Set(['apiVersion', 'kind', 'resources', 'patches']);

/**
 * Builds the objects of these directories of manifests/ as `kustomize build` does: the resources of all directories,
 * and each directory's patches applied to the objects so far. `render` and `oc apply -k` thus use the same files.
 */
export function buildManifests(directories: readonly string[]): Manifest[] {
  const manifests: Manifest[] = [];
  for (const directory of directories) {
    const kustomization = readKustomization(directory);
    for (const resource of kustomization.resources ?? []) {
      manifests.push(...readManifests(path.posix.join(directory, resource)));
    }
    for (const patch of kustomization.patches ?? []) {
      const target = manifests.find((manifest) => isTarget(manifest, patch));
      if (target === undefined) throw new Error(`${directory}: there is no ${patch.target.kind} ${patch.target.name}`);
      const file = path.posix.join(directory, patch.path);
      for (const operation of parse(readManifestFile(file)) as Operation[]) applyOperation(target, operation, file);
    }
  }
  return manifests;
}

function readKustomization(directory: string): Kustomization {
  const file = path.posix.join(directory, 'kustomization.yaml');
  const kustomization = parse(readManifestFile(file)) as Kustomization;
  const unsupportedKey = Object.keys(kustomization).find((key) => !SUPPORTED_KEYS.has(key));
  if (unsupportedKey !== undefined) throw new Error(`${file}: ${unsupportedKey} is not understood here`);
  return kustomization;
}

function readManifests(file: string): Manifest[] {
  // With the schema of YAML 1.1, strings are quoted if YAML 1.1 or 1.2 reads them as another type.
  const documents = parseAllDocuments(readManifestFile(file), { schema: 'yaml-1.1' });
  if (!Array.isArray(documents)) throw new Error(`${file} is empty`);
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${file}: ${error.message}`);
    // Each document becomes a file, which needs no `---`.
    if (document.directives !== undefined) document.directives.docStart = null;
  }
  return documents as Manifest[];
}

function isTarget(manifest: Manifest, { target: { kind, name } }: Patch): boolean {
  return manifest.get('kind') === kind && manifest.getIn(['metadata', 'name']) === name;
}

function applyOperation(manifest: Manifest, { op, path: pointer, value }: Operation, file: string): void {
  const keys = pointer.split('/').slice(1).map(decodeKey);
  const parentKeys = keys.slice(0, -1);
  if (keys.at(-1) === '-') {
    manifest.addIn(parentKeys, manifest.createNode(value));
    return;
  }
  // As in kustomize, a patch of a missing field is an error.
  if (op !== 'add' && !manifest.hasIn(keys)) throw new Error(`${file}: there is no ${pointer}`);
  if (!isCollection(manifest.getIn(parentKeys))) throw new Error(`${file}: there is no place for ${pointer}`);
  if (op === 'remove') manifest.deleteIn(keys);
  else manifest.setIn(keys, manifest.createNode(value));
}

/** Decodes a key of a JSON pointer (RFC 6901). Lists have numbers as keys. */
function decodeKey(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key.replaceAll('~1', '/').replaceAll('~0', '~');
}
