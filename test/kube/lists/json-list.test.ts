import { expect, test } from 'vitest';
import { MalformedList } from '../../../src/kube/errors.ts';
import { METADATA, parseJsonList } from '../../../src/kube/lists/json-list.ts';

const NODE = { apiVersion: 'v1', kind: 'Node' };
const LIST = '{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}';
const METADATA_LIST = LIST.replace('NodeList', 'PartialObjectMetadataList').replace('"v1"', '"meta.k8s.io/v1"');

function parse(text: string) {
  return parseJsonList(text, [NODE, METADATA]);
}

test('parses a list whose items state no type, or their own', () => {
  const items = [{ metadata: { name: 'w0' } }, { ...NODE, metadata: { name: 'w1' } }];
  expect(parse(LIST.replace('[]', JSON.stringify(items)))).toEqual({ items, resourceVersion: '1' });
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

test.each([
  ['no items', LIST.replace(',"items":[]', '')],
  ['null for its items, although it is not metadata-only', LIST.replace('[]', 'null')],
  ['items that are not a list', LIST.replace('[]', '{}')],
  ['items that are not objects', LIST.replace('[]', '[1]')],
  ['items that are lists', LIST.replace('[]', '[[{}]]')],
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
  expect(() => parse(body)).toThrow(MalformedList);
});
