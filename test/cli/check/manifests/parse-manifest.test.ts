import { expect, test } from 'vitest';
import { parseManifest, splitManifest } from '../../../../src/cli/check/manifests/parse-manifest.ts';

function parse(text: string) {
  return parseManifest(Buffer.from(text), 'a.yaml', { nodesLeft: 1_000 });
}

test('reads scalars as the libraries of Go do', () => {
  const text = 'a: yes\nb: 0644\nc: 0o17\nd: 1:30\ne: "no"\nf: !!str 1\ng: 1_0\nh: ~\n';
  const value = { a: true, b: 420, c: 15, d: '1:30', e: 'no', f: '1', g: 10, h: null };
  expect(parse(text)).toEqual([{ line: 1, text, value }]);
});

test('splits before each line that begins with ---', () => {
  const texts = ['# a\n', '---\na: |\n  --- b\n', '--- # c\n', '---\nd: 1\n...\ne: 2\n'];
  expect(parse(texts.join(''))).toEqual([
    { line: 1, text: texts[0], value: null },
    { line: 2, text: texts[1], value: { a: '--- b\n' } },
    { line: 5, text: texts[2], value: null },
    { line: 6, text: texts[3], value: { d: 1 } },
  ]);
});

test('splits JSON between objects, but not in strings', () => {
  expect(parse('{"a": "} {"}\n').map(({ value }) => value)).toEqual([{ a: '} {' }]);
  expect(parse('{"a": 1}\n{"b": 2} ').map(({ text, value }) => [text, value])).toEqual([
    ['{"a": 1}', { a: 1 }],
    ['\n{"b": 2} ', { b: 2 }],
  ]);
});

test.each([
  ['one document', 'a: 1\n', ['a: 1\n']],
  ['a separator at the beginning', '---\na: 1\n', ['---\na: 1\n']],
  ['two documents', 'a: 1\n---\nb: 2\n', ['a: 1\n', '---\nb: 2\n']],
  ['no line end', 'a: 1\n---\nb: 2', ['a: 1\n', '---\nb: 2']],
  ['Windows line ends', 'a: 1\r\n---\r\nb: 2\r\n', ['a: 1\r\n', '---\r\nb: 2\r\n']],
  ['comments', '# a\n---\na: 1 # b\n--- # c\n# d\nb: 2\n', ['# a\n---\na: 1 # b\n', '--- # c\n# d\nb: 2\n']],
  ['empty documents at the beginning', '---\n# a\n--- # b\n---\na: 1\n', ['\n# a\n # b\n---\na: 1\n']],
  ['an empty document after a byte order mark', '\uFEFF---\n---\na: 1\n', ['\uFEFF\n---\na: 1\n']],
  ['empty documents elsewhere', 'a: 1\n---\n# b\n---\nb: 2\n---\n', ['a: 1\n---\n# b\n', '---\nb: 2\n---\n']],
  ['JSON objects', '{"a": 1}\n{"b": 2}\n', ['{"a": 1}', '\n{"b": 2}\n']],
  ['no document', '# a\n---\n', []],
  ['a document that does not parse', 'a: 1\n---\nb: [\n', []],
])('splits a file with %s', (_what, text, texts) => {
  expect(splitManifest(parse(text))).toEqual(texts);
  // Each part is one document for both readers.
  for (const part of texts) expect(splitManifest(parse(part))).toEqual([part]);
});
