import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse as parseLibrary } from 'yaml';
import { FileError } from '../../src/files/file-error.ts';
import { createNodeBudget, parseYaml, YamlError } from '../../src/files/yaml-document.ts';

function parse(text: string) {
  return parseYaml(text, 'file');
}

function findErrorLine(text: string): number | undefined {
  try {
    return void parse(text);
  } catch (error) {
    return error instanceof YamlError ? error.line : Number.NaN;
  }
}

const { reads, fails } = parseLibrary(readFileSync(new URL('yaml-document.yaml', import.meta.url), 'utf8')) as {
  readonly reads: readonly (readonly [text: string, value: unknown])[];
  readonly fails: readonly (readonly [line: number, texts: readonly string[]])[];
};

test.each<readonly [text: string, value: unknown]>([
  ...reads,
  // The default of the library `yaml` rejects so many aliases.
  [`a: &x 1\nb: [${'*x, '.repeat(150)}]`, { a: 1, b: Array.from({ length: 150 }, () => 1) }],
])('reads %j like Go', (text, value) => {
  expect(parse(text).value).toEqual(value);
});

test.each(fails)('fails in line %i: %j', (line, texts) => {
  for (const text of texts) expect(findErrorLine(text), text).toBe(line);
});

test('knows the lines of keys and items, the keys that it has twice, and whether more follows', () => {
  const { value, findLine, duplicates, hasMore } = parse('# a\nb: 1\nc:\n- d\n\n- {e: 2,\n   f: 3}\nb: 4\n---\n');
  const root = value as { c: readonly [unknown, object] };
  expect(['b', 'c', 'x'].map((key) => findLine(root, key))).toEqual([8, 3, 1]);
  expect([findLine(root.c, 1), findLine(root.c[1], 'f')]).toEqual([6, 7]);
  expect(duplicates).toEqual([{ key: 'b', line: 8 }]);
  expect([hasMore, parse('a: 1\n...\n').hasMore]).toEqual([true, false]);
});

test('says where a template is', () => {
  expect(() => parse('a: |\n  {{ b }}\nc: {{ d }}\n')).toThrow('a template, not YAML');
  expect(() => parse('a: |\n  {{ b }}\nc: d: e\n')).toThrow('nested mappings are not allowed in compact mappings');
});

test.each(['- ', '[', '? ', '{a: ', '- - ? [{'])('rejects a text with 30,000 nested %j', (start) => {
  expect(() => parse(start.repeat(30_000))).toThrow(FileError);
  // Objects of Kubernetes are nested, too.
  expect(parse(`a: ${'[{b: '.repeat(50)}1${'}]'.repeat(50)}`).hasMore).toBe(false);
});

test('rejects a text with too many values, also by aliases', () => {
  const bomb = Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]`);
  const message = /^file and the files before it have more than \d+ values$/;
  expect(() => parse(['a0: &a0 [1, 1]', ...bomb].join('\n'))).toThrow(message);
  expect(() => parseYaml('a: 1\n'.repeat(100), 'file', createNodeBudget(100))).toThrow(message);
});
