import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedList } from '../../../src/kube/errors.ts';
import { JsonListParser } from '../../../src/kube/lists/json-list-parser.ts';

function parse(...chunks: Buffer[]) {
  const items: unknown[] = [];
  const parser = new JsonListParser((item) => items.push(item));
  for (const chunk of chunks) parser.write(chunk);
  return { items, ...parser.end() };
}

function parseText(text: string) {
  return parse(Buffer.from(text));
}

test('parses any list that arrives in two chunks', () => {
  const items = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), { maxLength: 5 });
  fc.assert(
    fc.property(items, fc.nat(400), (expected, cut) => {
      const list = { kind: 'NodeList', metadata: { resourceVersion: '7' }, items: expected };
      const bytes = Buffer.from(JSON.stringify(list));
      const parsed = parse(bytes.subarray(0, cut), bytes.subarray(cut));
      expect(parsed).toEqual({ items: JSON.parse(JSON.stringify(expected)), resourceVersion: '7' });
    }),
  );
});

test('rejects a list that is cut short anywhere', () => {
  const list = '{"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":"\\"]}"}]}';
  for (let length = 0; length < list.length; length += 1) {
    expect(() => parseText(list.slice(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
});

const LIST = '{"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]}';

test.each([
  ['no items', LIST.replace(',"items":[]', '')],
  ['items that are not a list', LIST.replace('[]', '{}')],
  ['items that are not objects', LIST.replace('[]', '[1]')],
  ['a continue token', LIST.replace('"1"', '"1","continue":"abc"')],
  ['no version', LIST.replace('"resourceVersion":"1"', '')],
  ['another kind', LIST.replace('NodeList', 'Status')],
  ['a second list', `${LIST}{}`],
  ['null', 'null'],
])('rejects a body with %s', (_title, body) => {
  expect(() => parseText(body)).toThrow(MalformedList);
});

test('parses an empty metadata-only list, which has null for its items', () => {
  const body = LIST.replace('NodeList', 'PartialObjectMetadataList').replace('[]', 'null');
  expect(parseText(body)).toEqual({ items: [], resourceVersion: '1' });
});

test('rejects a list of more than 64 MiB', () => {
  const parser = new JsonListParser(() => {});
  const chunk = Buffer.alloc(16 * 1024 * 1024, 'x');
  for (let count = 0; count < 4; count += 1) parser.write(chunk);
  expect(() => parser.write(chunk)).toThrow('the list is too large');
});
