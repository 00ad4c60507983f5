import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedList } from '../../../src/kube/errors.ts';
import { JsonListParser } from '../../../src/kube/lists/json-list-parser.ts';
import { METADATA } from '../../../src/kube/lists/list-parser.ts';

const NODE = { apiVersion: 'v1', kind: 'Node' };

function parse(...chunks: Buffer[]) {
  const items: unknown[] = [];
  const parser = new JsonListParser((item) => items.push(item), [NODE, METADATA]);
  for (const chunk of chunks) parser.write(chunk);
  return { items, ...parser.end() };
}

function parseText(text: string) {
  return parse(Buffer.from(text));
}

test('parses any list that arrives in two chunks', () => {
  const item = fc.dictionary(
    fc.string({ unit: 'binary' }).map((key) => `${key} `),
    fc.jsonValue(),
  );
  const indents = fc.constantFrom(undefined, 2, '\t');
  fc.assert(
    fc.property(fc.array(item, { maxLength: 5 }), fc.nat(400), indents, (expected, cut, indent) => {
      const list = {
        apiVersion: 'v1',
        items: expected,
        kind: 'NodeList',
        metadata: { resourceVersion: '7' },
      };
      const bytes = Buffer.from(JSON.stringify(list, undefined, indent));
      const parsed = parse(bytes.subarray(0, cut), bytes.subarray(cut));
      expect(parsed).toEqual({ items: JSON.parse(JSON.stringify(expected)), resourceVersion: '7' });
    }),
  );
});

test('parses an item as soon as it has arrived', () => {
  const items: unknown[] = [];
  const parser = new JsonListParser((item) => items.push(item), [NODE]);
  parser.write(Buffer.from('{"kind":"NodeList","items":[{"a":"}]"},{"b":'));
  expect(items).toEqual([{ a: '}]' }]);
});

const LIST = '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}';
const METADATA_LIST = LIST.replace('NodeList', 'PartialObjectMetadataList').replace(
  '"v1"',
  '"meta.k8s.io/v1"',
);

test('rejects a list that is cut short anywhere', () => {
  const list = LIST.replace('[]', '[{"a":1},{"b":"\\"]}"}]');
  for (let length = 0; length < list.length; length += 1) {
    expect(() => parseText(list.slice(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
});

test.each([
  ['no items', LIST.replace(',"items":[]', '')],
  ['null for its items, although it is not metadata-only', LIST.replace('[]', 'null')],
  ['items that are not a list', LIST.replace('[]', '{}')],
  ['items that are not objects', LIST.replace('[]', '[1]')],
  ['items that are lists', LIST.replace('[]', '[[{}]]')],
  ['its items twice', LIST.replace('[]', '[{}],"items":[0]')],
  ['items that are not JSON', LIST.replace('[]', '[{]]')],
  ['a continue token', LIST.replace('"1"', '"1","continue":"abc"')],
  ['no version', LIST.replace('"resourceVersion":"1"', '')],
  ['no list', LIST.replace('NodeList', 'Status')],
  ['a list of another kind', LIST.replace('NodeList', 'PodList')],
  ['a list of another API version', LIST.replace('"v1"', '"config.openshift.io/v1"')],
  ['an item of another kind', LIST.replace('[]', '[{"apiVersion":"v1","kind":"Pod"}]')],
  ['a metadata-only list of whole objects', METADATA_LIST.replace('[]', '[{}]')],
  ['a second list', `${LIST}{}`],
  ['null', 'null'],
])('rejects a body with %s', (_title, body) => {
  expect(() => parseText(body)).toThrow(MalformedList);
});

test('parses a metadata-only list, which has null for its items if it is empty', () => {
  const item = { ...METADATA, metadata: { name: 'w0' } };
  const list = METADATA_LIST.replace('[]', JSON.stringify([item]));
  expect(parseText(list)).toEqual({ items: [item], resourceVersion: '1' });
  expect(parseText(METADATA_LIST.replace('[]', 'null'))).toEqual({ items: [], resourceVersion: '1' });
});

test.each([
  ['an item of more than 8 MiB', '{"items":[{"a":"', 8],
  ['an envelope of more than 1 MiB', '{"metadata":{"a":"', 1],
])('rejects %s', (_title, start, size) => {
  const parser = new JsonListParser(() => {}, [NODE]);
  parser.write(Buffer.from(start));
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  for (let count = 1; count < size; count += 1) parser.write(chunk);
  expect(() => parser.write(chunk)).toThrow('a part of the list is too large');
});
