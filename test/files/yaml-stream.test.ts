import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { createNodeBudget } from '../../src/files/yaml-document.ts';
import { parseStream } from '../../src/files/yaml-stream.ts';

function parse(content: string | Buffer) {
  return parseStream(Buffer.from(content), 'a.yaml', createNodeBudget(1_000));
}

/** The values of the bootstrap, where an error is its line, and the value of the cluster. */
function read(content: string | Buffer): readonly unknown[] {
  const { documents, inCluster } = parse(content);
  const [cluster, ...values] = [inCluster, ...documents].map(({ value, error }) => error?.line ?? value);
  return [values, cluster];
}

type Case = readonly [text: string | Buffer, bootstrap: readonly unknown[], cluster: unknown];

test.each<Case>([
  ...(parseYaml(readFileSync(new URL('yaml-stream.yaml', import.meta.url), 'utf8')) as readonly Case[]),
  [Buffer.from('a: \u00E4', 'latin1'), [1], 1],
  [Buffer.from('\uFEFFa: 1\n', 'utf16le'), [1], 1],
])('reads %j', (text, bootstrap, cluster) => {
  expect(read(text)).toEqual([bootstrap, cluster]);
});

test('keeps the text and the lines of each document, and of JSON, and rejects too many documents', () => {
  const texts = ['# a\n', '---\nb: |\n  --- c\n', '---\nd: 1\nd: 2\n'];
  const { documents } = parse(texts.join(''));
  expect(documents.map(({ text, line }) => [text, line])).toEqual(texts.map((text, index) => [text, [1, 2, 5][index]]));
  expect(documents[2]?.duplicates).toEqual([{ key: 'd', line: 7 }]);
  expect(documents[1]?.findLine(documents[1].value as object, 'b')).toBe(3);
  const { value, findLine } = parse('{\n  "a": [\n    1,\n    2\n  ]\n}\n').inCluster;
  expect(findLine((value as { a: object }).a, 1)).toBe(4);
  const parseMany = (count: number) => parseStream(Buffer.from('---\n'.repeat(count)), 'a.yaml').documents;
  expect(parseMany(1_000)).toHaveLength(1_000);
  expect(() => parseMany(1_001)).toThrow('a.yaml has more than 1000 documents');
});
