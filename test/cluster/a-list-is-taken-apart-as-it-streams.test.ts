import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MalformedList } from '../../src/kube/errors.ts';
import { JsonListParser } from '../../src/kube/lists/json-list-parser.ts';

function stream(bytes: Buffer, cuts: readonly number[] = []): { items: unknown[]; resourceVersion: string } {
  const items: unknown[] = [];
  const list = new JsonListParser((item) => items.push(item));
  const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [index, from] of edges.slice(0, -1).entries()) list.write(bytes.subarray(from, edges[index + 1]));
  return { items, ...list.end() };
}

function text(body: string): { items: unknown[]; resourceVersion: string } {
  return stream(Buffer.from(body));
}

test('any list, cut anywhere, gives the items that JSON.parse gives', () => {
  const item = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
  const list = fc.record({
    kind: fc.constant('NodeList'),
    // Everything that could be taken for the structure: keys named items elsewhere, quotes, backslashes, brackets.
    metadata: fc.record({ resourceVersion: fc.constant('7'), items: fc.jsonValue() }),
    extra: fc.jsonValue(),
    items: fc.array(item, { maxLength: 5 }),
    after: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"items":[{', '\\', '\\"', ']}')),
  });
  fc.assert(
    fc.property(
      list,
      fc.array(fc.nat(400), { maxLength: 12 }),
      fc.constantFrom(undefined, 1),
      (value, cuts, indent) => {
        const bytes = Buffer.from(JSON.stringify(value, null, indent));
        const expected = JSON.parse(bytes.toString()) as { items: unknown[] };
        expect(stream(bytes, cuts)).toEqual({ items: expected.items, resourceVersion: '7' });
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a list cut short anywhere is an error, never a shorter list', () => {
  const whole = Buffer.from(
    JSON.stringify({ kind: 'NodeList', metadata: { resourceVersion: '7' }, items: [{ a: 1 }, { b: '"]}' }] }),
  );
  for (let length = 0; length < whole.length; length += 1) {
    expect(() => stream(whole.subarray(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
});

describe('what is not a whole list', () => {
  test.each([
    ['items missing', '{"kind":"NodeList","metadata":{"resourceVersion":"1"}}'],
    ['items not a list', '{"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":{}}'],
    ['items of numbers', '{"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[1]}'],
    ['a page', '{"kind":"NodeList","metadata":{"resourceVersion":"1","continue":"abc"},"items":[]}'],
    ['no version', '{"kind":"NodeList","metadata":{},"items":[]}'],
    ['another object', '{"kind":"Status","status":"Failure"}'],
    ['two lists', '{"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]}{}'],
    ['a page of a proxy', '<html></html>'],
    ['nothing', ''],
    ['null', 'null'],
  ])('%s', (_title, body) => {
    expect(() => text(body)).toThrow(MalformedList);
  });

  test('an empty metadata-only list says null, and is a list', () => {
    const body = '{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},"items":null}';
    expect(text(body)).toEqual({ items: [], resourceVersion: '1' });
  });

  test('a list without end does not fill the memory', () => {
    const list = new JsonListParser(() => {});
    const chunk = Buffer.alloc(16 * 1024 * 1024, 'x');
    for (let mebibytes = 0; mebibytes < 64; mebibytes += 16) list.write(chunk);
    expect(() => list.write(chunk)).toThrow('the list is too large');
  });
});
