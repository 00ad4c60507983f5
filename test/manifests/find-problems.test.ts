import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { FileError } from '../../src/files/file-error.ts';
import { findProblems } from '../../src/manifests/find-problems.ts';
import { readManifests } from '../../src/manifests/read-manifests.ts';
import { RULES } from '../../src/manifests/rules/rules.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

type Json = Record<string, unknown>;
/** An object, or the name of one in problems.yaml, or else the text of a file. */
type Content = string | Json;

const ROLE = `${MCO_GROUP}/role`;

interface Tables {
  readonly objects: Readonly<Record<string, Json>>;
  readonly values: Readonly<Record<string, [object: string, field: string, harmless: unknown[], harmful: unknown[]][]>>;
  readonly contents: Readonly<Record<string, [harmless: Content[], harmful: Content[]][]>>;
  readonly installerFiles: [file: string, object: Json][];
  readonly renderInputs: string[];
  readonly directories: [what: string, files: (Content | Content[])[], problems: string[], release?: string][];
}

const TABLES = parse(readFileSync(path.join(import.meta.dirname, 'problems.yaml'), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
}) as Tables;

function toText(content: Content): string {
  if (typeof content !== 'string') return stringify(content);
  const object = TABLES.objects[content];
  return object === undefined ? content : stringify(object);
}

const { signal } = new AbortController();

function findAll(
  contentsByFile: Readonly<Record<string, Content | readonly Content[]>>,
  release?: string,
  installer?: 'agent',
) {
  const files = Object.entries(contentsByFile).map(([file, contents]) => {
    return { path: file, content: Buffer.from([contents].flat().map(toText).join('---\n')) };
  });
  const input = { installer, hasFolders: true, files, installConfig: undefined };
  return findProblems(input, release);
}

function find(...args: Parameters<typeof findAll>): string[] {
  const { problems } = findAll(...args);
  return problems.map(({ severity, code }) => `${severity} ${code}`);
}

interface FieldInput {
  readonly id: string;
  /** Of the real bootstrap of 4.20: the beginnings of the rendered names, or `fails`. */
  readonly bootstrap: string;
  /** Of the same with first documents alone, if they differ. */
  readonly cluster?: string;
  /** Whether the API accepted the first documents in a dry run. */
  readonly api: 'accepts' | 'rejects' | 'unknown';
  readonly problems: readonly string[];
  readonly files: Readonly<Record<string, string | { readonly base64: string } | { readonly link: string }>>;
}

// Manifests from public reports, rebuilt. The real machine-config-controller 4.20 and API server 1.33 judged them.
const INPUTS = readFileSync(path.join(import.meta.dirname, 'field-inputs.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as FieldInput);
/** Why the verdict is not that of the bootstrap and the API alone. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'M70-oauth': 'a plugin of OpenShift, which the API server of the lab does not have, rejects the type htpasswd',
  'M77-subscription-no-namespace':
    'the API server of the lab has no Subscription, and that of a release needs the namespace',
  'M84-agent-two-documents': 'the agent-based installer splits the file from 4.15 on, so both get all documents',
  'N13-kc-bad-field': 'the bootstrap does not check what the kubelet rejects',
  'N22-butane': 'no installer copies the Butane file to the bootstrap host',
  'N54-idms-itms-one-file': 'the cluster gets only the first document, so the names differ',
  'N55-list': 'cluster-bootstrap rejects a list, and then creates nothing',
  'N56-same-name-two-roles': 'the cluster gets only the first object, so the names differ',
  'N69-managed-fields': 'a dry run of the API does not reach etcd, which takes no new object with a resourceVersion',
  'N82-helm-output': 'cluster-bootstrap rejects an empty first document, and then creates nothing',
  R30: 'the cluster gets only the first document, so the names differ',
};

function writeInput(directory: string, { files }: FieldInput): void {
  for (const [file, content] of Object.entries(files)) {
    if (typeof content === 'string') writeFiles(directory, { [file]: content });
    else if ('base64' in content) writeFiles(directory, { [file]: Buffer.from(content.base64, 'base64') });
    else {
      mkdirSync(path.join(directory, path.dirname(file)), { recursive: true });
      symlinkSync(content.link, path.join(directory, file));
    }
  }
}

test.each(INPUTS)('judges $id like the bootstrap and the API', async (input) => {
  const { id, bootstrap, cluster, api, problems: expected } = input;
  const directory = createTemporaryDirectory();
  writeInput(directory, input);
  const texts = await readManifests(directory, signal)
    .then((read) => findProblems(read))
    .then(({ problems }) => problems.map(({ severity, code, file, line }) => `${severity} ${code} ${file}:${line}`))
    .catch((error: Error) => {
      if (error instanceof FileError) return [`FileError ${error.message.replaceAll(directory, 'DIR')}`];
      throw error;
    });
  const isUnsafe = bootstrap === 'fails' || cluster !== undefined || api === 'rejects';
  const hasError = texts.some((text) => /^(?:error|FileError) /.test(text));
  expect(hasError !== isUnsafe).toBe(id in EXCEPTIONS);
  expect(texts).toEqual(expected);
});

/** A copy of an object with another value at a path. */
function change(object: Json, fields: string, value: unknown): Json {
  const [first = '', ...rest] = fields.split('/');
  const copy: Json = Object.assign(Array.isArray(object) ? [] : {}, object);
  const inner: unknown = copy[first] ?? (rest[0] === '0' ? [] : {});
  copy[first] = rest.length === 0 ? value : change(inner as Json, rest.join('/'), value);
  return copy;
}

function listRows<Row extends readonly unknown[]>(table: Readonly<Record<string, readonly Row[]>>) {
  return Object.entries(table).flatMap(([code, rows]) => rows.map((row) => [code, ...row] as const));
}

test.each(listRows(TABLES.values))('reports %s in %s at %s', (code, object, field, harmless, harmful) => {
  const isFound = (value: unknown) => {
    const changed = change(TABLES.objects[object] ?? {}, field, value === '(unset)' ? undefined : value);
    return [value, find({ 'a.yaml': changed }).includes(code)];
  };
  for (const value of harmless) expect(isFound(value)).toEqual([value, false]);
  for (const value of harmful) expect(isFound(value)).toEqual([value, true]);
});

test.each(listRows(TABLES.contents))('reports %s', (code, harmless, harmful) => {
  const isFound = (content: Content) => [content, find({ 'a.yaml': content }).includes(code)];
  for (const content of harmless) expect(isFound(content)).toEqual([content, false]);
  for (const content of harmful) expect(isFound(content)).toEqual([content, true]);
});

test.each(TABLES.directories)('judges %s', (_what, contents, problems, release) => {
  const files = Object.fromEntries(contents.map((content, index) => [`${index}.yaml`, content]));
  expect(find(files, release)).toEqual(problems);
});

test('judges a hidden file', () => {
  expect(find({ 'openshift/.a.yaml': 'NAMESPACE' })).toEqual(['error HiddenFile']);
});

test.each(TABLES.installerFiles)('warns about the object of %s in another file', (file, object) => {
  expect(find({ [`manifests/${file}`]: object })).toEqual([]);
  expect(find({ 'openshift/99-x.yaml': object })).toEqual(['warning OnlyInCluster']);
});

test.each(TABLES.renderInputs)('knows that configs are rendered from %s', (type) => {
  const [apiVersion, kind] = type.split(' ');
  const object = { apiVersion, kind, metadata: { name: 'a' } };
  expect(find({ 'a.yaml': ['NAMESPACE', object] })).toContain('error MultipleDocuments');
});

test('every rule has a case here', () => {
  const { values, contents, directories } = TABLES;
  const texts = [...directories.flatMap(([, , problems]) => problems), ...INPUTS.flatMap(({ problems }) => problems)];
  const codes = new Set([...Object.keys({ ...values, ...contents }), ...texts].map((text) => text.split(' ')[1]));
  const missing = Object.keys(RULES).filter((code) => !codes.has(code));
  // The tests of read-manifests.ts, of compare-renders.ts, and of sizes have them.
  const others = ['DuplicateFileName', 'KustomizationFile', 'AssistedSize', 'ObjectSize', 'RenderedSize'];
  expect(missing).toEqual([...others, 'RenderFails', 'RendersDiffer']);
});

function createLargeConfig(name: string, bytes: number): Json {
  const config = change(TABLES.objects['CONFIG'] ?? {}, 'metadata/name', name);
  return change(config, 'spec/config/storage/files/0/contents/source', `data:,${'a'.repeat(bytes)}`);
}

test.each([
  ['a config below each limit', [900_000], []],
  ['a file that the Assisted installer rejects', [1_100_000], ['warning AssistedSize']],
  ['an object that etcd rejects', [1_700_000], ['error ObjectSize', 'error RenderedSize', 'warning AssistedSize']],
  ['configs that are together too large', [800_000, 900_000], ['error RenderedSize']],
])('judges the size of %s', (_what, sizes, problems) => {
  const files = sizes.map((bytes, index) => [`${index}.yaml`, createLargeConfig(`9${index}-worker`, bytes)] as const);
  const { problems: found } = findAll(Object.fromEntries(files));
  expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(problems);
  const ofPool = found.find(({ code }) => code === 'RenderedSize');
  if (ofPool !== undefined) expect(ofPool.message).toMatch(`pool worker (1.7 MiB, most in ${sizes.length - 1}.yaml)`);
});

test('limits the size of all annotations together', () => {
  const judge = (bytes: number) =>
    find({ 'a.yaml': change(TABLES.objects['CONFIG_MAP'] ?? {}, 'metadata/annotations', { a: 'b'.repeat(bytes) }) });
  expect(judge(256 * 1024 - 1)).toEqual([]);
  expect(judge(256 * 1024)).toEqual(['error InvalidValue']);
});

test('judges the documents of a file by what the installer does with it', () => {
  const files = { 'openshift/a.yaml': ['IDMS', 'KUBELET'] };
  const judge = (release?: string) => {
    const { problems } = findAll(files, release, 'agent');
    return problems.map(({ severity, code }) => `${severity} ${code}`);
  };
  expect([judge(), judge('4.14'), judge('4.15')]).toEqual([
    ['warning MultipleDocuments'],
    ['error MultipleDocuments'],
    [],
  ]);
});

test('knows the feature set of the install-config', () => {
  const files = [{ path: 'a.yaml', content: Buffer.from(toText('MONITORING')) }];
  const judge = (featureSet: string) => {
    const input = { installer: undefined, hasFolders: true, files, installConfig: { featureSet } };
    const { problems } = findProblems(input, '4.20');
    return problems.map(({ code }) => code);
  };
  expect([judge('TechPreviewNoUpgrade'), judge('')]).toEqual([[], ['KindRelease']]);
});

test('says whether another release or feature set reads a field', () => {
  const metadata = { name: 'cluster' };
  const spec = { profileCustomizations: {}, profiles: 'a' };
  const scheduler = { apiVersion: 'config.openshift.io/v1', kind: 'Scheduler', metadata, spec };
  const luks = change(TABLES.objects['CONFIG'] ?? {}, 'spec/config/storage/luks', []);
  const config = change(luks, 'spec/config/ignition/version', '3.0.0');
  const { problems } = findAll({ 'a.yaml': scheduler, 'b.yaml': config }, '4.18');
  expect(problems.map(({ message }) => message)).toEqual([
    'only another release or feature set reads the field spec.profileCustomizations',
    'nothing reads the field spec.profiles',
    'nothing reads the field spec.config.storage.luks',
  ]);
});

test('checks what the ConfigMaps of a hub contain, at their lines', () => {
  const text = [
    'apiVersion: v1',
    'kind: ConfigMap',
    'metadata: { name: extra, namespace: lab }',
    'data:',
    '  99-worker.yaml: |',
    '    apiVersion: config.openshift.io/v1',
    '    kind: Scheduler',
    '    metadata: { name: cluster }',
    '    spec:',
    "      mastersSchedulable: 'true'",
    '  99-master: |',
    '    kind: Namespace',
    '  notes: not a manifest',
    '',
  ].join('\n');
  const cluster = { apiVersion: 'siteconfig.open-cluster-management.io/v1alpha1', kind: 'ClusterInstance' };
  const files = [text, stringify(cluster)].map((content, index) => {
    return { path: `${index}.yaml`, content: Buffer.from(content) };
  });
  const input = { installer: undefined, installConfig: undefined, files };
  const judge = (hasFolders: boolean) => {
    const { problems } = findProblems({ ...input, hasFolders });
    return problems.map(({ code, file, line }) => `${code} ${file}:${line}`);
  };
  expect(judge(false)).toEqual(['InvalidValue 0.yaml/99-worker.yaml:10', 'IgnoredFile 0.yaml/99-master:1']);
  expect(judge(true)).toEqual(['MissingNamespace 0.yaml:1', 'ClientKind 1.yaml:1']);
});

test('puts errors first, and names the object, its line and what to do', () => {
  const config = change(TABLES.objects['CONFIG'] ?? {}, 'spec/config/storage/files/0/path', 'etc/a');
  const { problems } = findAll({ 'openshift/a.yaml': 'INFRA_POOL', 'openshift/b.yaml': config });
  expect(problems).toEqual([
    {
      severity: 'error',
      code: 'InvalidContents',
      file: 'openshift/b.yaml',
      line: 13,
      kind: 'MachineConfig',
      name: '99-worker-a',
      message:
        'spec.config.storage.files[0].path is "etc/a", and must be an absolute path without "..", "//" or "/" at its ' +
        'end: the install fails, or nodes become Degraded',
      advice: 'correct the field',
    },
    expect.objectContaining({ severity: 'warning', code: 'EmptyPool' }),
  ]);
});

test('reports untrusted text as one printable line, and nothing of the values', () => {
  const labels = { [ROLE]: 'master', '\u0007\n': 5_318_008 };
  const config = { ...TABLES.objects['KARG'], metadata: { name: 'a\u001B[31m\u202Eb', labels } };
  const { problems } = findAll({ 'openshift/\u001B[2J\n\u202E.yaml': config });
  expect(problems[0]).toMatchObject({ file: 'openshift/ [2J .yaml', name: 'a [31m b' });
  expect(JSON.stringify(problems)).not.toMatch(/5318008|\p{C}/u);
});

test.each([
  [
    'values',
    Array.from({ length: 8 }, () => `a: &a [${'a,'.repeat(1_000)}]\nb: [${'*a,'.repeat(300)}]\n`),
    /^\d+\.yaml and the files before it have more than 2000000 values$/,
  ],
  ['documents', ['---\n'.repeat(1_001)], /^0\.yaml has more than 1000 documents$/],
  ['problems', Array.from({ length: 11 }, () => 'a\n---\n'.repeat(999)), /^\d+\.yaml .* more than 10000 problems$/],
])('rejects a directory with too many %s', (_what, texts, message) => {
  expect(() => find(Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text])))).toThrow(message);
});
