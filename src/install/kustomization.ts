import path from 'node:path';
import { type Document, isCollection, parse, parseAllDocuments } from 'yaml';
import { readManifestFile } from './manifest-files.ts';

/** One object of manifests/, with the comments that were written beside it. */
export type Manifest = Document.Parsed;

/** What manifests/ uses of a kustomization.yaml, and so all that is understood here. */
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

/** One operation of a JSON patch (RFC 6902). */
interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

const UNDERSTOOD = new Set(['apiVersion', 'kind', 'resources', 'patches']);

/**
 * The objects of some directories of manifests/ as `kustomize build` would make them: the resources of each, changed by the
 * patches of those that come later. The files stay the only place where an object is written down; what is rendered for an
 * installer and what `oc apply -k` applies cannot drift apart.
 */
export function buildManifests(directories: readonly string[]): Manifest[] {
  const manifests: Manifest[] = [];
  for (const directory of directories) {
    const kustomization = readKustomization(directory);
    for (const resource of kustomization.resources ?? []) {
      manifests.push(...read(path.posix.join(directory, resource)));
    }
    for (const patch of kustomization.patches ?? []) {
      const target = manifests.find((manifest) => isTarget(manifest, patch));
      if (target === undefined) throw new Error(`${directory}: there is no ${patch.target.kind} ${patch.target.name}`);
      const file = path.posix.join(directory, patch.path);
      for (const operation of parse(readManifestFile(file)) as Operation[]) apply(target, operation, file);
    }
  }
  return manifests;
}

function readKustomization(directory: string): Kustomization {
  const file = path.posix.join(directory, 'kustomization.yaml');
  const kustomization = parse(readManifestFile(file)) as Kustomization;
  const unknown = Object.keys(kustomization).find((key) => !UNDERSTOOD.has(key));
  if (unknown !== undefined) throw new Error(`${file}: ${unknown} is not understood here`);
  return kustomization;
}

function read(file: string): Manifest[] {
  // The schema of YAML 1.1: what is set later is quoted wherever either version could read it as something else.
  const documents = parseAllDocuments(readManifestFile(file), { schema: 'yaml-1.1' });
  if (!Array.isArray(documents)) throw new Error(`${file} is empty`);
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${file}: ${error.message}`);
    // Each becomes a file of its own.
    if (document.directives !== undefined) document.directives.docStart = null;
  }
  return documents as Manifest[];
}

function isTarget(manifest: Manifest, { target: { kind, name } }: Patch): boolean {
  return manifest.get('kind') === kind && manifest.getIn(['metadata', 'name']) === name;
}

function apply(manifest: Manifest, { op, path: pointer, value }: Operation, file: string): void {
  const keys = pointer.split('/').slice(1).map(unescaped);
  const last = keys.at(-1);
  if (last === '-') {
    manifest.addIn(keys.slice(0, -1), manifest.createNode(value));
    return;
  }
  // A patch that has come to nothing is a mistake in the file, and kustomize would refuse it too.
  if (op !== 'add' && !manifest.hasIn(keys)) throw new Error(`${file}: there is no ${pointer}`);
  if (!isCollection(manifest.getIn(keys.slice(0, -1)))) throw new Error(`${file}: there is no place for ${pointer}`);
  if (op === 'remove') manifest.deleteIn(keys);
  else manifest.setIn(keys, manifest.createNode(value));
}

/** RFC 6901. A list is indexed by numbers. */
function unescaped(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key.replaceAll('~1', '/').replaceAll('~0', '~');
}
