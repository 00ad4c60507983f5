import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { MalformedList } from '../../../src/kube/errors.ts';
import { JsonReader } from '../../../src/common/json-reader.ts';
import { JsonListParser, METADATA } from '../../../src/kube/lists/list-parser.ts';

const NODE = { apiVersion: 'v1', kind: 'Node' };
const LIST = '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}';
const METADATA_LIST = LIST.replace('NodeList', 'PartialObjectMetadataList').replace('"v1"', '"meta.k8s.io/v1"');

/** Parses a list that arrives in chunks of this many bytes. */
function parse(text: string, chunkBytes = 7, wanted?: ConstructorParameters<typeof JsonListParser>[2]) {
  const items: object[] = [];
  const parser = new JsonListParser((item) => items.push(item), [NODE, METADATA], wanted);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    parser.write(bytes.subarray(at, at + chunkBytes));
    parser.parse();
  }
  return { resourceVersion: parser.end(), items };
}

test.each([{}, NODE])('parses a list in chunks of any size whose items state the type %j', (type) => {
  const items = ['w0', '{"]}[,é\\', ''].map((name) => ({ ...type, metadata: { name }, spec: { a: [{}, []] } }));
  const spaced = LIST.replace('[]', JSON.stringify(items, null, 2)).replaceAll(':', ' :\n');
  for (const list of [LIST.replace('[]', JSON.stringify(items)), `${spaced} \n`])
    for (let size = 1; size <= list.length; size += 1)
      expect(parse(list, size)).toEqual({ items, resourceVersion: '1' });
});

test('parses only the wanted parts of items in chunks of any size, but always their types', () => {
  const metadata = { name: 'w0', labels: { a: 'b' } };
  const conditions = [{ type: 'Ready' }];
  const status = { conditions, images: [{ names: ['"]}'] }], capacity: { cpu: '4' } };
  const items = [
    { ...NODE, metadata, spec: { unschedulable: true, taints: [{}] }, status },
    { ...NODE, metadata },
  ];
  const list = LIST.replace('[]', JSON.stringify(items));
  const wanted = { metadata: 'whole', spec: { unschedulable: true }, status: { conditions: 'whole' } } as const;
  const first = { ...NODE, metadata, spec: { unschedulable: true }, status: { conditions } };
  for (let size = 1; size <= list.length; size += 1)
    expect(parse(list, size, wanted)).toEqual({ items: [first, { ...NODE, metadata }], resourceVersion: '1' });
  expect(() => parse(list.replace('"Node",', '"Pod",'), 7, wanted)).toThrow(MalformedList);
});

test('hands over each item as soon as it has arrived, and reads a large one a few times only', () => {
  const names: unknown[] = [];
  const parser = new JsonListParser(({ metadata }) => names.push(metadata?.name), [NODE]);
  const large = JSON.stringify({ metadata: { name: 'large', annotations: { a: 'x'.repeat(2 ** 20) } } });
  const search = vi.spyOn(JsonReader.prototype, 'value');
  parser.write(Buffer.from('{"items":[{"metadata":{"name":"w0"}},'));
  parser.parse();
  expect(names).toEqual(['w0']);
  for (let at = 0; at < large.length; at += 1_000) {
    parser.write(Buffer.from(large.slice(at, at + 1_000)));
    parser.parse();
  }
  parser.write(Buffer.alloc(2 ** 20, ' '));
  parser.parse();
  expect(names).toEqual(['w0', 'large']);
  expect(search.mock.calls.length).toBeLessThan(20);
});

test('parses a metadata-only list, which has null for its items if it is empty', () => {
  const items = [{ ...METADATA, metadata: { name: 'w0' } }];
  const list = METADATA_LIST.replace('[]', JSON.stringify(items));
  expect(parse(list)).toEqual({ items, resourceVersion: '1' });
  expect(parse(METADATA_LIST.replace('[]', 'null'))).toEqual({ items: [], resourceVersion: '1' });
});

test('rejects a list that is cut short anywhere', () => {
  const list = LIST.replace('[]', '[{"a":1},{"b":"\\"]}"}]');
  for (let length = 0; length < list.length; length += 1) {
    expect(() => parse(list.slice(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
});

const MALFORMED = parseYaml(readFileSync(new URL('malformed-lists.yaml', import.meta.url), 'utf8')) as object;

test.each(Object.entries(MALFORMED))('rejects a body with %s', (_title, body: string) => {
  expect(() => parse(body)).toThrow(MalformedList);
});
