import { toPrintableLine } from '../../../common/printable-text.ts';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { type ManifestDocument, parseManifest } from './parse-manifest.ts';
import { findClusterInput, isRenderInput } from './render-inputs.ts';

export interface ManifestFile {
  /** In the directory, such as `openshift/99-chrony.yaml`. */
  readonly path: string;
  /** Undefined if installers ignore the file. */
  readonly content: Buffer | undefined;
}

/** What is wrong and why it matters; what to do. docs/adr/0012-check-manifests.md has the evidence. */
export const EXPLANATIONS = {
  DuplicateFileName: '%s has the same name: the bootstrap host copies one over the other; rename one of them',
  DuplicateObject: 'it is in %s, too: the bootstrap host reads both, the cluster gets only that one; keep one',
  EmptyDocument: 'the first document is empty: cluster-bootstrap rejects all manifests; delete it (or --split)',
  HiddenFile: 'hidden: the cluster can get the objects, but the bootstrap host does not render them; rename it',
  IgnoredFile: 'no installer reads this ending; end the name with .yaml, or move the file elsewhere',
  IncompleteObject: '%s is missing: the bootstrap of the cluster fails; add it, or move the file elsewhere',
  MissingRole: 'no pool selects it without the label machineconfiguration.openshift.io/role; add the label',
  MultipleDocuments:
    '%s documents: the bootstrap host reads all, the cluster gets only the first; write one per file (--split)',
  NotAString: '%s is not a string: the bootstrap of the cluster fails; put the value into quotes',
  ObjectList: 'the bootstrap host ignores lists, cluster-bootstrap rejects all manifests; write single objects',
  OnlyInCluster: 'the bootstrap host reads %s instead: the renders can differ; create it after the install',
  RenderedName: 'only the operator creates rendered configs, and this one is a source like others; rename it',
  Unparsable: 'the bootstrap host fails; repair it: YAML in UTF-8, JSON after {, only comments after ---',
} as const;
type Code = keyof typeof EXPLANATIONS;
export type Finding = ReturnType<typeof createFinding>;

/** Of a directory. */
export const MAX_TOKENS = 750_000;
const MAX_FINDINGS = 10_000;
const OBJECT_FIELD = /^(?:|metadata(?:\.labels|\.annotations)?|spec(?:\.kernelArguments|\.extensions)?)$/;
const TEXT_FIELD =
  /^(?:apiVersion$|kind$|metadata\.(?:name$|labels\.|annotations\.)|spec\.(?:kernelArguments|extensions)\.)/;
const REQUIRED_FIELDS = ['apiVersion', 'kind', 'metadata.name'];
const ROLE_LABEL = 'metadata.labels.machineconfiguration.openshift.io/role';
const MACHINE_CONFIG = /^machineconfiguration\.\S+\/MachineConfig\//;
const RENDERED_CONFIG = /^machineconfiguration\.\S+\/MachineConfig\/[^/]*\/rendered-/;
const LIST = /List\/[^/]*\/[^/]*$/;

/** Returns whether the object has the problem, or a detail. */
type Check = (object: ManifestObject, fileName: string) => string | boolean | undefined;

const CHECKS: readonly (readonly [Code, Check])[] = [
  ['IncompleteObject', ({ id, fields }) => !LIST.test(id) && REQUIRED_FIELDS.find((field) => !fields.get(field))],
  ['MissingRole', ({ id, fields }) => MACHINE_CONFIG.test(id) && !fields.get(ROLE_LABEL)],
  [
    'NotAString',
    ({ fields }) => [...fields.keys()].find((field) => TEXT_FIELD.test(field) && !isText(fields.get(field))),
  ],
  ['ObjectList', ({ id }) => LIST.test(id)],
  ['OnlyInCluster', ({ id }, fileName) => findClusterInput(id, fileName)],
  ['RenderedName', ({ id }) => RENDERED_CONFIG.test(id)],
];

/**
 * Finds what lets the bootstrap host of a new cluster fail, or render another config than the cluster.
 *
 * @param files in the order in which cluster-bootstrap creates their objects: sorted by name
 * @throws FileError if there are too many documents, YAML tokens or findings
 */
export async function findProblems(files: AsyncIterable<ManifestFile> | Iterable<ManifestFile>) {
  const findings: Finding[] = [];
  const budget = { tokensLeft: MAX_TOKENS };
  const seen = new Map<string, string>();
  let fileCount = 0;
  for await (const { path, content } of files) {
    const file = formatPath(path);
    const fileName = path.slice(path.lastIndexOf('/') + 1);
    const add = (code: Code, problem: ReturnType<Check>, object?: { line: number; id?: string }): void => {
      if (problem === undefined || problem === false) return;
      findings.push(createFinding(code, file, object?.line ?? 1, problem, object?.id ?? ''));
    };
    const findEarlier = (key: string): string | undefined => {
      const earlier = seen.get(key);
      if (earlier === undefined) seen.set(key, file);
      return earlier;
    };
    add('IgnoredFile', content === undefined);
    if (content === undefined) continue;
    fileCount += 1;
    add('DuplicateFileName', findEarlier(fileName));
    add('HiddenFile', fileName.startsWith('.'));
    const documents = parseManifest(content, file, budget);
    for (const document of documents) add('Unparsable', document.value === undefined, document);
    // Comments before the first separator are no document.
    const first = documents.find(({ value, text }) => value !== null || /^\uFEFF?---/.test(text));
    add('EmptyDocument', first === undefined || first.value === null, first);
    const objects = documents.filter(({ value }) => value !== null && value !== undefined).map(describe);
    const others = objects.slice(1);
    const [lost] = [...others, ...objects].filter(({ id }) => isRenderInput(id)).concat(others);
    add('MultipleDocuments', others.length > 0 && `${objects.length}`, lost);
    for (const object of objects) {
      for (const [code, check] of CHECKS) add(code, check(object, fileName), object);
      add('DuplicateObject', !object.id.endsWith('/') && findEarlier(object.id), object);
    }
    if (findings.length > MAX_FINDINGS) throw new FileError(`${file} and the files before it have too many problems`);
  }
  return { fileCount, findings };
}

function createFinding(code: Code, file: string, line: number, detail: string | true, id: string) {
  const [problem = '', advice = ''] = EXPLANATIONS[code].split('; ');
  const message = problem.replace('%s', () => formatText(detail));
  // Without a render input, the cluster only lacks an object.
  const isLoss = (code === 'MultipleDocuments' || code === 'DuplicateObject') && !isRenderInput(id);
  const isWarning = isLoss || code === 'IgnoredFile' || code === 'OnlyInCluster';
  const severity: 'error' | 'warning' = isWarning ? 'warning' : 'error';
  const [name = '', , kind = ''] = id.split('/').toReversed();
  return { severity, code, file, line, kind: kind || null, name: name || null, message, advice };
}

type ManifestObject = ReturnType<typeof describe>;

/** The scalars in the upper levels of the object by their paths, and its `apiVersion/kind/namespace/name`. */
function describe({ line, value }: ManifestDocument) {
  const fields = new Map(listFields(value));
  const names = ['apiVersion', 'kind', 'metadata.namespace', 'metadata.name'].map((field) => fields.get(field));
  return { line, fields, id: names.map(formatText).join('/') };
}

function* listFields(value: unknown, path = ''): Generator<[path: string, value: unknown]> {
  if (typeof value !== 'object' || value === null) yield [path, value];
  else if (OBJECT_FIELD.test(path))
    for (const [key, item] of Object.entries(value)) yield* listFields(item, path === '' ? key : `${path}.${key}`);
}

/** Go reads null as an empty string. */
function isText(value: unknown): boolean {
  return typeof value === 'string' || value === null;
}

function formatText(value: unknown): string {
  return typeof value === 'string' ? toPrintableLine(value, 253) : '';
}
