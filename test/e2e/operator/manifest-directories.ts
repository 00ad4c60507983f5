import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { mutate } from '../manifests/mutations.ts';

/** The files of an installer's directory by path. */
export type Directory = Readonly<Record<string, string>>;

type Json = Record<string, unknown>;
interface Part extends Json {
  readonly kind: string;
}

/** What users write and real programs accept, if they are alone. */
const PARTS = readFileSync(join(import.meta.dirname, 'manifest-parts.yaml'), 'utf8')
  .split('---\n')
  .flatMap((text) =>
    text.includes('VERSION') ? ['3.1.0', '3.4.0', '3.5.0'].flatMap((to) => fillRoles(text, to)) : [text],
  )
  .map((text) => parse(text) as Part);

function fillRoles(text: string, version: string): string[] {
  return ['master', 'worker'].map((role) => text.replaceAll('ROLE', role).replaceAll('VERSION', version));
}

/** Of 53 other kinds, which real programs accept, and copies with one fault each. */
const KINDS = parseAllDocuments(readFileSync(join(import.meta.dirname, '../manifests/kinds.yaml'), 'utf8')).map(
  (document) => document.toJS() as Part,
);
const otherPart = fc.constantFrom(...KINDS);
const changedOther = fc.tuple(otherPart, fc.nat()).map(([each, seed]) => {
  const mutations = mutate(each);
  return (mutations[seed % mutations.length]?.object ?? each) as Part;
});

/** Values for fields, right and wrong ones. Each line: a kind or '' for all, a path, and values. */
const VALUES = readFileSync(join(import.meta.dirname, 'manifest-values.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as [kind: string, path: string, ...values: unknown[]]);

const EDITS: readonly ((text: string) => string)[] = [
  ...['\uFEFF', '---\n', '# a\n---\n', '---\n---\n', '--- # a\n', '\t\n', '%YAML 1.1\n---\n', '...\n'].map(
    (start) => (text: string) => start + text,
  ),
  ...['---\n', '...\n', '---\n# end\n', '\t# a\n', '}\n', '---\nkind: A\n'].map((end) => (text: string) => text + end),
  (text) => text.trimEnd(),
  (text) => text.replaceAll('\n', '\r\n'),
  (text) => text.replaceAll('\n', '\r'),
  (text) => text.replace(/^( +)/m, '\t'),
  (text) => text.replace('spec:', 'spec: {}\nspec:'),
  (text) => text.replace('spec:\n  ', 'spec:\n'),
  (text) => text.replace('name:', 'name: &a\u2028'),
  (text) => text.replace('metadata:', 'x-a: &a {b: c}\nmetadata:\n  <<: *a'),
  (text) => text.replace(/: (\S+)$/m, ': "$1"'),
  () => '',
  () => '# disabled\n',
];

function setField(part: Json, [key = '', ...keys]: readonly string[], value: unknown): Json {
  const copy = (Array.isArray(part) ? [...(part as unknown[])] : { ...part }) as Json;
  const child = copy[key];
  const isCollection = typeof child === 'object' && child !== null;
  if (keys.length === 0) copy[key] = value;
  else copy[key] = setField(isCollection ? (child as Json) : {}, keys, value);
  return copy;
}

/** The role label contains dots. */
function splitPath(path: string): readonly string[] {
  return path.split(/\.(?!openshift|io\/|operator)/);
}

const part = fc.constantFrom(...PARTS);
const changedPart = fc.tuple(part, fc.nat()).map(([each, seed]) => {
  const choices = VALUES.filter(([kind]) => kind === '' || kind === each.kind).flatMap(([, path, ...values]) =>
    values.map((value) => [path, value] as const),
  );
  const [path, value] = choices[seed % choices.length] ?? ['', undefined];
  return JSON.parse(JSON.stringify(setField(each, splitPath(path), value === '(unset)' ? undefined : value))) as Part;
});
const text = fc.oneof(
  { weight: 3, arbitrary: otherPart.map((each) => stringify(each)) },
  { weight: 2, arbitrary: changedOther.map((each) => stringify(each)) },
  {
    weight: 4,
    arbitrary: fc
      .oneof({ weight: 2, arbitrary: part }, { weight: 3, arbitrary: changedPart })
      .map((each) => stringify(each)),
  },
  { weight: 1, arbitrary: changedPart.map((each) => `${JSON.stringify(each)}\n`) },
  {
    weight: 1,
    arbitrary: fc.tuple(part, part).map(([first, second]) => `${stringify(first)}---\n${stringify(second)}`),
  },
  { weight: 2, arbitrary: fc.tuple(part, fc.constantFrom(...EDITS)).map(([each, edit]) => edit(stringify(each))) },
);
const path = fc.constantFrom(
  'openshift/a.yaml',
  'openshift/b.yaml',
  'openshift/c.yml',
  'openshift/d.json',
  'manifests/a.yaml',
  'manifests/e.yaml',
);

/** Directories of one to four manifests, of which many have a fault. */
export const manifestDirectory: fc.Arbitrary<Directory> = fc
  .array(fc.tuple(path, text), { minLength: 1, maxLength: 4 })
  .map((files) => Object.fromEntries(files));
