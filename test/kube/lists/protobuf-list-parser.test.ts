import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { MalformedList } from '../../../src/kube/errors.ts';
import { ProtobufListParser } from '../../../src/kube/lists/protobuf-list-parser.ts';
import { NODE_REFERENCE_ANNOTATIONS, parseNodeReferrer } from '../../../src/references/parse-referrer.ts';
import { bytesField, encodeAnswer, encodeList, type EncodedObject, numberField } from './protobuf-encoding.ts';

const CURRENT = 'machineconfiguration.openshift.io/currentConfig';
const NODE = { name: 'w0', annotations: { [CURRENT]: 'rendered-worker-1' } };

function read(bytes: Buffer, cuts: readonly number[] = []): { items: unknown[]; resourceVersion: string } {
  const items: unknown[] = [];
  const list = new ProtobufListParser((item) => items.push(item));
  const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [index, from] of edges.slice(0, -1).entries()) list.write(bytes.subarray(from, edges[index + 1]));
  return { items, ...list.end() };
}

function time(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`;
}

/** The same object as a JSON answer says it. */
function asJson({ name, uid, creationSeconds, deletionSeconds, labels, annotations }: EncodedObject): unknown {
  return {
    metadata: {
      name,
      uid: uid ?? '',
      creationTimestamp: time(creationSeconds),
      deletionTimestamp: time(deletionSeconds),
      labels: labels ?? {},
      annotations: annotations ?? {},
    },
  };
}

// Texts that look like structure, and lengths around those where a length takes one byte more.
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('rendered-worker-0', '\u0012\u0003abc', '__proto__', 'constructor'),
  fc.nat(300).map((length) => 'x'.repeat(length)),
);
const map = fc.dictionary(text, text, { maxKeys: 4 });
const seconds = fc.integer({ min: 1, max: 4_000_000_000 });
const object: fc.Arbitrary<EncodedObject> = fc.record(
  {
    name: text,
    uid: text,
    creationSeconds: seconds,
    deletionSeconds: seconds,
    labels: map,
    annotations: map,
    managed: fc.uint8Array({ maxLength: 300 }),
  },
  { requiredKeys: ['name'] },
);

test('any list, cut anywhere, gives the objects that were written', () => {
  fc.assert(
    fc.property(fc.array(object, { maxLength: 5 }), fc.array(fc.nat(2_000), { maxLength: 12 }), (items, cuts) => {
      const bytes = encodeAnswer(encodeList({ resourceVersion: '7', items }));
      expect(read(bytes, cuts)).toEqual({ items: items.map((item) => asJson(item)), resourceVersion: '7' });
    }),
    { numRuns: 3_000 },
  );
});

test('byte by byte too', () => {
  const bytes = encodeAnswer(encodeList({ resourceVersion: '7', items: [NODE, { name: 'w1' }] }));
  const cuts = Array.from({ length: bytes.length }, (_, index) => index + 1);
  expect(read(bytes, cuts)).toEqual(read(bytes));
});

test('a list cut short anywhere is an error, never a shorter list', () => {
  const whole = encodeAnswer(encodeList({ resourceVersion: '7', items: [NODE, { name: 'w1' }] }));
  // The two empty fields after the list say nothing.
  const end = whole.length - 4;
  for (let length = 0; length < end; length += 1) {
    expect(() => read(whole.subarray(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
  expect(read(whole.subarray(0, end)).items).toHaveLength(2);
});

test('damaged bytes give a list or a BrokenList, never anything else', () => {
  const whole = encodeAnswer(encodeList({ resourceVersion: '7', items: [NODE] }));
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ flip;
      let items: unknown[];
      try {
        ({ items } = read(damaged));
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedList);
        return;
      }
      for (const item of items) expect(item).toHaveProperty('metadata');
    }),
    { numRuns: 5_000 },
  );
});

describe('what is not a whole list', () => {
  const list = encodeList({ resourceVersion: '7', items: [NODE] });
  test.each([
    ['a page', encodeAnswer(encodeList({ resourceVersion: '7', continue: 'abc', items: [] }))],
    ['no version', encodeAnswer(encodeList({ resourceVersion: '', items: [] }))],
    ['nothing inside', encodeAnswer(Buffer.alloc(0))],
    ['another kind', encodeAnswer(list, { kind: 'Status' })],
    ['a list of whole objects', encodeAnswer(list, { apiVersion: 'v1', kind: 'NodeList' })],
    ['two lists', Buffer.concat([encodeAnswer(list), bytesField(2, list)])],
    ['an encoded list', Buffer.concat([encodeAnswer(list), bytesField(3, 'gzip')])],
    ['a field that has only begun', Buffer.concat([encodeAnswer(list), Buffer.from([0x22])])],
    ['an item that is longer than the list', encodeAnswer(Buffer.concat([list, Buffer.from([0x12, 0x7f, 1])]))],
    ['a number where an item should be', encodeAnswer(Buffer.concat([list, numberField(2, 1)]))],
    ['a number without end', encodeAnswer(Buffer.concat([list, Buffer.alloc(12, 0xff)]))],
    ['a type that is not in use inside an item', encodeAnswer(bytesField(2, Buffer.from([0x0b])))],
    ['a page of a proxy', Buffer.from('<html></html>')],
    ['nothing', Buffer.alloc(0)],
  ])('%s', (_title, bytes) => {
    expect(() => read(bytes)).toThrow(MalformedList);
  });

  test('an item without end does not fill the memory', () => {
    const huge = Buffer.concat([Buffer.from([0x12]), Buffer.from([0xff, 0xff, 0xff, 0x7f])]);
    expect(() => read(encodeAnswer(Buffer.concat([huge, Buffer.alloc(100)])))).toThrow('too large');
  });
});

test('an empty list is a list', () => {
  expect(read(encodeAnswer(encodeList({ resourceVersion: '7', items: [] })))).toEqual({
    items: [],
    resourceVersion: '7',
  });
});

test('a node says the same as in JSON', () => {
  const [item] = read(encodeAnswer(encodeList({ resourceVersion: '7', items: [NODE] }))).items;
  expect(parseNodeReferrer(item as object)).toEqual(parseNodeReferrer({ metadata: NODE }));
});

test('where only some annotations are wanted, a node still says the same', () => {
  const key = fc.oneof(fc.constantFrom(...NODE_REFERENCE_ANNOTATIONS), text);
  const config = fc.constantFrom('', 'rendered-worker-1', 'drain-rendered-worker-1', 'uncordon-rendered-worker-2', 'x');
  const node = fc.record({ name: fc.constantFrom('w0', 'w1'), labels: map, annotations: fc.dictionary(key, config) });
  fc.assert(
    fc.property(fc.array(node, { maxLength: 12 }), (items) => {
      const bytes = encodeAnswer(encodeList({ resourceVersion: '7', items }));
      const found: unknown[] = [];
      const list = new ProtobufListParser((item) => found.push(parseNodeReferrer(item)), NODE_REFERENCE_ANNOTATIONS);
      list.write(bytes);
      list.end();
      expect(found).toEqual(items.map((metadata) => parseNodeReferrer({ metadata })));
    }),
    { numRuns: 2_000 },
  );
});

test('an object without a name is refused by who reads it', () => {
  const [item] = read(encodeAnswer(encodeList({ resourceVersion: '7', items: [{ name: '' }] }))).items;
  expect(() => parseNodeReferrer(item as object)).toThrow('a Node has no name');
});
