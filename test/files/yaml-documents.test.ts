import { expect, test } from 'vitest';
import { parseYamlDocuments, toValue } from '../../src/files/yaml-documents.ts';

function parse(text: string, maxDocuments = 10, maxTokens?: number) {
  const limits = maxTokens === undefined ? { maxDocuments } : { maxDocuments, maxTokens };
  return parseYamlDocuments(text, 'file', limits);
}

test('returns each document with its first line, scalars as strings, and the last of equal keys', () => {
  const documents = parse('a: 1\na: 2\n---\n# comment\nb: yes\n---\n');
  expect(documents.map(({ line, errorLine }) => [line, errorLine])).toEqual([1, 3, 6].map((line) => [line, undefined]));
  expect(documents.map((document) => toValue(document, 'file'))).toEqual([{ a: '2' }, { b: 'yes' }, '']);
});

test('returns the line of the first error', () => {
  expect(parse('a: 1\nb: [\nc: 1\n').map(({ errorLine }) => errorLine)).toEqual([3]);
});

test('ends at the maximum number of documents', () => {
  expect(parse('---\n'.repeat(1_000_000), 3)).toHaveLength(3);
});

test('rejects a text with too many tokens', () => {
  expect(() => parse('a: 1\n'.repeat(100), 1, 100)).toThrow('file has more than 100 YAML tokens');
  expect(() => parse('a:\n'.repeat(1_000_000))).toThrow('file has more than 500000 YAML tokens');
});

test('rejects a value with too many aliases', () => {
  const [document] = parse(`a: &a [1]\nb: [${'*a, '.repeat(200)}]`);
  expect(() => document && toValue(document, 'file')).toThrow('file is not YAML that this command can read');
});

// Without the limit, V8 can end the process: RegExpCompiler Allocation failed.
test.each(['- ', '[', '? ', 'a: {b: ', '- - ? [{'])('rejects a text with 30,000 nested %j', (start) => {
  expect(() => parse(start.repeat(30_000))).toThrow('file is nested too deeply');
});

test('reads what is nested as deeply as objects of Kubernetes', () => {
  expect(parse(`a: ${'[{b: '.repeat(50)}1${'}]'.repeat(50)}`)[0]?.errorLine).toBeUndefined();
});
