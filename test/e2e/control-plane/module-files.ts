import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { runOk, runProcess } from '../support/process.ts';
import { cachePath, fillCache } from './cache.ts';
import { MissingControlPlaneError, requireGo } from './go-build.ts';
import type { KubeObject } from './kube-client.ts';

/** Its go.sum has the checksum of every module that is downloaded here. Go verifies it. */
export const CHECKSUMS = fileURLToPath(new URL('modules', import.meta.url));

interface Project {
  /** Path and version of a Go module. */
  readonly module: string;
  readonly prefix?: string;
  readonly files: readonly string[];
}

const PROJECTS = parse(readFileSync(new URL('crds.yaml', import.meta.url), 'utf8')) as Readonly<
  Record<string, Project>
>;

/**
 * The CRDs of a project in crds.yaml, from the cache or from the module proxy.
 * @throws MissingControlPlaneError if the files are neither in the cache nor can be downloaded
 */
export async function readCrds(name: string): Promise<readonly KubeObject[]> {
  const project = PROJECTS[name];
  if (project === undefined) throw new Error(`crds.yaml has no ${name}`);
  const { module, prefix = '' } = project;
  const files = project.files.map((file) => prefix + file);
  // Projects can need different files of one module.
  const hash = createHash('sha256').update(files.join()).digest('hex').slice(0, 8);
  const directory = cachePath('modules', `${module.replaceAll('/', '_')}-${hash}`);
  if (!existsSync(directory)) await requireGo(`The cache has no CRDs of ${module}`);
  await fillCache(directory, async (unfinished) => {
    const source = await downloadModule(module);
    for (const file of files) await copyFile(join(source, file), join(unfinished, basename(file)));
  });
  return Promise.all(files.map(async (file) => parseCrd(await readFile(join(directory, basename(file)), 'utf8'))));
}

/** The files of cert-manager are Helm templates. Their lines with expressions are labels and conditions. */
function parseCrd(text: string): KubeObject {
  const plain = text.replaceAll(/^.*\{\{.*$/gm, '');
  const objects = parseAllDocuments(plain).map((document) => document.toJS(OMIT_FORMAT_RULES) as KubeObject | null);
  return objects.find((object) => object?.kind === 'CustomResourceDefinition') as KubeObject;
}

/** Kubernetes 1.31 does not know the CEL library `format`, which the preview CRDs of builds use. */
const OMIT_FORMAT_RULES = {
  reviver: (key: unknown, value: unknown): unknown => {
    if (key !== 'x-kubernetes-validations') return value;
    return (value as readonly { readonly rule: string }[]).filter(({ rule }) => !rule.includes('format.'));
  },
};

/**
 * Downloads a module whose checksum is pinned, and returns its read-only folder.
 * @throws MissingControlPlaneError if Go cannot download it
 */
export async function downloadModule(module: string): Promise<string> {
  const { exitCode, stdout } = await runProcess('go', ['mod', 'download', '-json', module], { cwd: CHECKSUMS });
  if (exitCode !== 0) throw new MissingControlPlaneError(`Go cannot download ${module}: ${stdout}`);
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}

/** Copies a module, because Go applies the replacements of a go.mod only to the main module. */
export async function copyModule(module: string, directory: string): Promise<void> {
  // Folders of the module cache are read-only.
  await runOk('cp', ['--recursive', '--no-preserve=mode', await downloadModule(module), directory]);
}
