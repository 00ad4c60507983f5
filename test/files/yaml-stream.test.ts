import { expect, test } from 'vitest';
import { parseStream } from '../../src/files/yaml-stream.ts';

function parse(content: string | Buffer) {
  return parseStream(Buffer.from(content), 'a.yaml', { nodesLeft: 1_000 });
}

/** The values of the bootstrap, where an error is its line, and the value of the cluster. */
function read(content: string | Buffer): readonly unknown[] {
  const { documents, inCluster } = parse(content);
  const [cluster, ...values] = [inCluster, ...documents].map(({ value, error }) => error?.line ?? value);
  return [values, cluster];
}

// What the programs of the bootstrap host read: test/e2e/manifests compares thousands of texts with their libraries.
test.each<[text: string | Buffer, bootstrap: readonly unknown[], cluster: unknown]>([
  ['a: 1\n', [{ a: 1 }], { a: 1 }],
  ['# a\n---\na: 1\n', [null, { a: 1 }], { a: 1 }],
  ['---\na: 1\n---\n# b\n', [{ a: 1 }, null], { a: 1 }],
  ['---\n# a\n---\na: 1\n', [null, { a: 1 }], null],
  ['--- # a\na: 1\n---# b\n--- \nb: 2\n', [{ a: 1 }, null, { b: 2 }], 3],
  ['a: 1\n--- b\n', [{ a: 1 }, 2], { a: 1 }],
  ['a: 1\n---\nb: [\n', [{ a: 1 }, 3], { a: 1 }],
  ['a: "\n---\n"\n', [1, 3], 1],
  ['\uFEFF---\na: 1\n', [{ a: 1 }], { a: 1 }],
  ['# a\n---\n\uFEFFb: 1\n', [null, { b: 1 }], { '\uFEFFb': 1 }],
  ['a: 1\r\nb: |\r\n  c\r\n', [{ a: 1, b: 'c\n' }], { a: 1, b: 'c\n' }],
  ['a: |\n  b\r\r\n  c\n', [{ a: 'b\nc\n' }], { a: 'b\n\nc\n' }],
  ['a: |\n  b', [{ a: 'b\n' }], { a: 'b' }],
  ['%YAML 1.1\n---\na: 1\n', [1, { a: 1 }], 1],
  ['a: 1\n...\nb: 2\n', [{ a: 1 }], { a: 1 }],
  ['{"a": 1}', [{ a: 1 }], { a: 1 }],
  ['{"a": 1}{"b": 2}', [1], 1],
  ['{"a": 1}\n---\n{"b": 2}', [1], { a: 1 }],
  ['{a: 1}', [1], { a: 1 }],
  ['\uFEFF{a: 1}', [{ a: 1 }], { a: 1 }],
  ['# a\n{a: 1}', [{ a: 1 }], { a: 1 }],
  ['{"a": "\\ud83d\\ude00"}', [{ a: '😀' }], 1],
  ['{"a"\n: 1}', [{ a: 1 }], 1],
  ['\t{"a": 1}', [{ a: 1 }], 1],
  [Buffer.from('a: \u00E4', 'latin1'), [1], 1],
  [Buffer.from('\uFEFFa: 1\n', 'utf16le'), [1], 1],
])('reads %j', (text, bootstrap, cluster) => {
  expect(read(text)).toEqual([bootstrap, cluster]);
});

test('keeps the text and the lines of each document', () => {
  const texts = ['# a\n', '---\nb: |\n  --- c\n', '---\nd: 1\nd: 2\n'];
  const { documents } = parse(texts.join(''));
  expect(documents.map(({ text, line }) => [text, line])).toEqual(texts.map((text, index) => [text, [1, 2, 5][index]]));
  expect(documents[2]?.duplicates).toEqual([{ key: 'd', line: 7 }]);
  expect(documents[1]?.findLine(documents[1].value as object, 'b')).toBe(3);
});

test('knows the lines of JSON', () => {
  const { value, findLine } = parse('{\n  "a": [\n    1,\n    2\n  ]\n}\n').inCluster;
  expect(findLine((value as { a: object }).a, 1)).toBe(4);
});

test('rejects too many documents', () => {
  expect(() => parse('---\n'.repeat(1_001))).toThrow('a.yaml has more than 1000 documents');
});
