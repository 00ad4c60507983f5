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

/** What is wrong and why it matters; what to do. docs/internals/decisions/0012-check-manifests.md has the evidence. */
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

/** Part of the JSON of `check --manifests`. */
export interface ManifestProblem {
  readonly severity: 'error' | 'warning';
  readonly code: Code;
  readonly file: string;
  readonly line: number;
  /** Null for a problem of the whole file. */
  readonly kind: string | null;
  readonly name: string | null;
  readonly message: string;
  readonly advice: string;
}

/** Of a directory. */
export const MAX_NODES = 500_000;
const MAX_PROBLEMS = 10_000;
const OBJECT_FIELD = /^(?:|metadata(?:\.labels|\.annotations)?|spec(?:\.kernelArguments|\.extensions)?)$/;
const TEXT_FIELD =
  /^(?:apiVersion$|kind$|metadata\.(?:name$|labels\.|annotations\.)|spec\.(?:kernelArguments|extensions)\.)/;
const REQUIRED_FIELDS = ['apiVersion', 'kind', 'metadata.name'];
const ROLE_LABEL = 'metadata.labels.machineconfiguration.openshift.io/role';
const MACHINE_CONFIG = /^machineconfiguration\.\S+\/MachineConfig\//;
const RENDERED_CONFIG = /^machineconfiguration\.\S+\/MachineConfig\/[^/]*\/rendered-/;
const LIST = /List\/[^/]*\/[^/]*$/;

/**
 * Finds what lets the bootstrap host of a new cluster fail, or render another config than the cluster.
 *
 * @param files in the order in which cluster-bootstrap creates their objects: sorted by name
 * @throws FileError if there are too many documents, YAML tokens or problems
 */
export async function findProblems(files: AsyncIterable<ManifestFile> | Iterable<ManifestFile>) {
  const problems: ManifestProblem[] = [];
  const budget = { nodesLeft: MAX_NODES };
  const seen = new Map<string, string>();
  let fileCount = 0;
  for await (const { path, content } of files) {
    const file = formatPath(path);
    const fileName = path.slice(path.lastIndexOf('/') + 1);
    /** @param detail false or undefined if there is no problem */
    const add = (code: Code, detail: string | boolean | undefined, { line = 1, id = '' } = {}): void => {
      if (detail !== undefined && detail !== false) problems.push(createProblem(code, file, line, detail, id));
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
    const { documents, inCluster } = parseManifest(content, file, budget);
    const unparsable = documents.filter(({ value }) => value === undefined);
    // JSON can be invalid as YAML, which cluster-bootstrap reads.
    if (unparsable.length === 0 && inCluster.value === undefined) unparsable.push(inCluster);
    for (const { error } of unparsable) add('Unparsable', true, error);
    // Comments before the first separator are no document.
    const first = documents.find(({ value, text }) => value !== null || /^\uFEFF?---/.test(text));
    add('EmptyDocument', first === undefined || first.value === null, first);
    const objects = documents.filter(({ value }) => value !== null && value !== undefined).map(describe);
    const others = objects.slice(1);
    const [lost] = [...others, ...objects].filter(({ id }) => isRenderInput(id)).concat(others);
    add('MultipleDocuments', others.length > 0 && `${objects.length}`, lost);
    for (const object of objects) {
      const { id, fields } = object;
      const isList = LIST.test(id);
      add('IncompleteObject', !isList && REQUIRED_FIELDS.find((field) => !fields.get(field)), object);
      add('MissingRole', MACHINE_CONFIG.test(id) && !fields.get(ROLE_LABEL), object);
      const texts = [...fields].filter(([field]) => TEXT_FIELD.test(field));
      // Go reads null as an empty string.
      add('NotAString', texts.find(([, value]) => typeof value !== 'string' && value !== null)?.[0], object);
      add('ObjectList', isList, object);
      add('OnlyInCluster', findClusterInput(id, fileName), object);
      add('RenderedName', RENDERED_CONFIG.test(id), object);
      add('DuplicateObject', !id.endsWith('/') && findEarlier(id), object);
    }
    if (problems.length > MAX_PROBLEMS) throw new FileError(`${file} and the files before it have too many problems`);
  }
  return { fileCount, problems };
}

function createProblem(code: Code, file: string, line: number, detail: string | true, id: string): ManifestProblem {
  const [text = '', advice = ''] = EXPLANATIONS[code].split('; ');
  const message = text.replace('%s', () => formatText(detail));
  // Without a render input, the cluster only lacks an object.
  const isLoss = (code === 'MultipleDocuments' || code === 'DuplicateObject') && !isRenderInput(id);
  const severity = isLoss || code === 'IgnoredFile' || code === 'OnlyInCluster' ? 'warning' : 'error';
  const [name = '', , kind = ''] = id.split('/').toReversed();
  return { severity, code, file, line, kind: kind || null, name: name || null, message, advice };
}

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

function formatText(value: unknown): string {
  return typeof value === 'string' ? toPrintableLine(value, 253) : '';
}
