import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { findProblems } from '../../../../src/cli/check/manifests/find-problems.ts';
import { RULES } from '../../../../src/cli/check/manifests/rules.ts';
import { readManifests } from '../../../../src/cli/check/manifests/read-manifests.ts';
import { MCO_GROUP } from '../../../../src/kube/api-paths.ts';
import { createTemporaryDirectory, writeFiles } from '../../temporary-directory.ts';

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

const TABLES = parse(readFileSync(path.join(import.meta.dirname, 'problems.yaml'), 'utf8'), { merge: true }) as Tables;

function toText(content: Content): string {
  if (typeof content !== 'string') return stringify(content);
  const object = TABLES.objects[content];
  return object === undefined ? content : stringify(object);
}

async function findAll(files: Readonly<Record<string, Content | readonly Content[]>>, release?: string) {
  const manifests = Object.entries(files).map(([file, contents]) => {
    return { path: file, content: Buffer.from([contents].flat().map(toText).join('---\n')) };
  });
  return await findProblems(manifests, release);
}

async function find(...args: Parameters<typeof findAll>): Promise<string[]> {
  const { problems } = await findAll(...args);
  return problems.map(({ severity, code }) => `${severity} ${code}`);
}

interface FieldInput {
  readonly id: string;
  /** Of the real bootstrap of 4.20: the beginnings of the rendered names, or `fails`. */
  readonly bootstrap: string;
  /** Whether the API accepted the first documents in a dry run. */
  readonly api: 'accepts' | 'rejects' | 'unknown';
  readonly problems: readonly string[];
  readonly files: Readonly<Record<string, string | { readonly base64: string }>>;
}

// Manifests from public reports, rebuilt. The real machine-config-controller 4.20 and API server 1.33 judged them.
const INPUTS = readFileSync(path.join(import.meta.dirname, 'field-inputs.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as FieldInput);
/** Why the verdict is not that of the bootstrap and the API alone. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'N22-butane': 'no installer copies the Butane file to the bootstrap host',
  'N54-idms-itms-one-file': 'the cluster gets only the first document, so the names differ',
  'N55-list': 'cluster-bootstrap rejects a list, and then creates nothing',
  'N56-same-name-two-roles': 'the cluster gets only the first object, so the names differ',
  'N82-helm-output': 'cluster-bootstrap rejects an empty first document, and then creates nothing',
  R30: 'the cluster gets only the first document, so the names differ',
};

test.each(INPUTS)(
  'judges $id like the bootstrap and the API',
  async ({ id, bootstrap, api, files, problems: expected }) => {
    const directory = createTemporaryDirectory();
    writeFiles(
      directory,
      Object.fromEntries(
        Object.entries(files).map(([file, content]) => [
          file,
          typeof content === 'string' ? content : Buffer.from(content.base64, 'base64'),
        ]),
      ),
    );
    const { problems } = await findProblems(readManifests(directory, new AbortController().signal));
    const isUnsafe = bootstrap === 'fails' || api === 'rejects';
    const hasError = problems.some(({ severity }) => severity === 'error');
    expect(hasError !== isUnsafe).toBe(id in EXCEPTIONS);
    expect(problems.map(({ severity, code, file, line }) => `${severity} ${code} ${file}:${line}`)).toEqual(expected);
  },
);

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

test.each(listRows(TABLES.values))('reports %s in %s at %s', async (code, object, field, harmless, harmful) => {
  const isFound = async (value: unknown) => {
    const changed = change(TABLES.objects[object] ?? {}, field, value === '(unset)' ? undefined : value);
    return [value, (await find({ 'a.yaml': changed })).includes(code)];
  };
  for (const value of harmless) expect(await isFound(value)).toEqual([value, false]);
  for (const value of harmful) expect(await isFound(value)).toEqual([value, true]);
});

test.each(listRows(TABLES.contents))('reports %s', async (code, harmless, harmful) => {
  const isFound = async (content: Content) => [content, (await find({ 'a.yaml': content })).includes(code)];
  for (const content of harmless) expect(await isFound(content)).toEqual([content, false]);
  for (const content of harmful) expect(await isFound(content)).toEqual([content, true]);
});

test.each(TABLES.directories)('judges %s', async (_what, contents, problems, release) => {
  const files = Object.fromEntries(contents.map((content, index) => [`${index}.yaml`, content]));
  expect(await find(files, release)).toEqual(problems);
});

test('judges a hidden file', async () => {
  expect(await find({ 'openshift/.a.yaml': 'NAMESPACE' })).toEqual(['error HiddenFile']);
});

test.each(TABLES.installerFiles)('warns about the object of %s in another file', async (file, object) => {
  expect(await find({ [`manifests/${file}`]: object })).toEqual([]);
  expect(await find({ 'openshift/99-x.yaml': object })).toEqual(['warning OnlyInCluster']);
});

test.each(TABLES.renderInputs)('knows that configs are rendered from %s', async (type) => {
  const [apiVersion, kind] = type.split(' ');
  const object = { apiVersion, kind, metadata: { name: 'a' } };
  expect(await find({ 'a.yaml': ['NAMESPACE', object] })).toContain('error MultipleDocuments');
});

test('every rule has a case here', () => {
  const { values, contents, directories } = TABLES;
  const texts = [...directories.flatMap(([, , problems]) => problems), ...INPUTS.flatMap(({ problems }) => problems)];
  const codes = new Set([...Object.keys({ ...values, ...contents }), ...texts].map((text) => text.split(' ')[1]));
  const missing = [...RULES.keys()].filter((code) => !codes.has(code));
  // The tests of read-manifests.ts and of compare-renders.ts have them.
  expect(missing).toEqual(['DuplicateFileName', 'RenderFails', 'RendersDiffer']);
});

test('puts errors first, and names the object, its line and what to do', async () => {
  const config = change(TABLES.objects['CONFIG'] ?? {}, 'spec/config/storage/files/0/path', 'etc/a');
  const { problems } = await findAll({ 'openshift/a.yaml': 'INFRA_POOL', 'openshift/b.yaml': config });
  expect(problems).toEqual([
    {
      severity: 'error',
      code: 'InvalidContents',
      file: 'openshift/b.yaml',
      line: 13,
      kind: 'MachineConfig',
      name: '99-worker-a',
      message:
        'spec.config.storage.files[0].path must be an absolute path without "..", "//" or "/" at its end: ' +
        'the bootstrap host fails',
      advice: 'correct the value',
    },
    expect.objectContaining({ severity: 'warning', code: 'EmptyRole' }),
  ]);
});

test('reports untrusted text as one printable line, and nothing of the values', async () => {
  const labels = { [ROLE]: 'master', '\u0007\n': 5_318_008 };
  const config = { ...TABLES.objects['KARG'], metadata: { name: 'a\u001B[31m\u202Eb', labels } };
  const { problems } = await findAll({ 'openshift/\u001B[2J\n\u202E.yaml': config });
  expect(problems[0]).toMatchObject({ file: 'openshift/ [2J .yaml', name: 'a [31m b' });
  expect(JSON.stringify(problems)).not.toMatch(/5318008|\p{C}/u);
});

test.each([
  [
    'values',
    Array.from({ length: 11 }, () => `a: [${'a,'.repeat(50_000)}]`),
    /^\d+\.yaml and the files before it have too many values$/,
  ],
  ['documents', ['---\n'.repeat(1_001)], /^0\.yaml has more than 1000 documents$/],
  ['problems', Array.from({ length: 11 }, () => 'a\n---\n'.repeat(999)), /^\d+\.yaml .* too many problems$/],
])('rejects a directory with too many %s', async (_what, texts, message) => {
  await expect(find(Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text])))).rejects.toThrow(message);
});
