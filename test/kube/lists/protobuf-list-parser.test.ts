import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkProperty } from '../../support/check-property.ts';
import { MalformedList } from '../../../src/kube/errors.ts';
import { type ObjectFilter, ProtobufListParser } from '../../../src/kube/lists/protobuf-list-parser.ts';
import { toConfigName } from '../../../src/mco/machine-config.ts';
import { createNodeFilter, parseNodeReferrer } from '../../../src/mco/parse-referrer.ts';
import type { NodeReferrer } from '../../../src/mco/referrer.ts';
import { bytesField, encodeAnswer, type EncodedObject, encodeList, numberField } from './protobuf-encoding.ts';

const PREFIX = 'machineconfiguration.openshift.io/';
const NODE_FIELDS = ['currentConfig', 'desiredConfig', 'desiredDrain', 'lastAppliedDrain', 'state', 'reason', 'other'];
const NODE = { name: 'w0', annotations: { [`${PREFIX}currentConfig`]: 'rendered-worker-1' } };

function parse(bytes: Buffer, cuts: number[] = []) {
  const items: unknown[] = [];
  const parser = new ProtobufListParser((item) => items.push(item));
  const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [index, from] of edges.slice(0, -1).entries()) {
    parser.write(bytes.subarray(from, edges[index + 1]));
    parser.parse();
  }
  return { items, resourceVersion: parser.end() };
}

/** The object as a JSON response has it, but with times in milliseconds. */
function toJson(object: EncodedObject): unknown {
  const { name, uid = '', creationSeconds, deletionSeconds, labels = {}, annotations = {} } = object;
  const [creationTimestamp, deletionTimestamp] = [creationSeconds, deletionSeconds].map((time) => time && 1_000 * time);
  const times = { creationTimestamp, deletionTimestamp };
  return { metadata: { name, uid, ...times, labels, annotations, ownerReferences: object.owners ?? [] } };
}

// Texts that look like structure, and lengths around the one that takes a second byte.
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('rendered-worker-0', '\u0012\u0003abc', 'constructor'),
  fc.nat(300).map((length) => 'x'.repeat(length)),
);
// The parser leaves out this key, which no label or annotation can have.
const key = text.filter((each) => each !== '__proto__');
const map = fc.dictionary(key, text, { maxKeys: 4 });
const seconds = fc.integer({ min: 1, max: 4_000_000_000 });
const object: fc.Arbitrary<EncodedObject> = fc.record(
  {
    name: text,
    uid: text,
    creationSeconds: seconds,
    deletionSeconds: seconds,
    labels: map,
    annotations: map,
    owners: fc.array(fc.record({ kind: text, name: text }), { maxLength: 2 }),
    managed: fc.uint8Array({ maxLength: 300 }),
    hasValuesFirst: fc.boolean(),
  },
  { requiredKeys: ['name'] },
);

test('parses any list that arrives in any chunks', () => {
  checkProperty(
    fc.property(fc.array(object, { maxLength: 5 }), fc.array(fc.nat(2_000), { maxLength: 12 }), (items, cuts) => {
      const bytes = encodeAnswer(encodeList(items));
      expect(parse(bytes, cuts)).toEqual({ items: items.map(toJson), resourceVersion: '7' });
    }),
    500,
  );
});

test('rejects a list that is cut short anywhere', () => {
  const whole = encodeAnswer(encodeList([NODE, { name: 'w1' }]));
  // The two fields after the list are empty.
  const end = whole.length - 4;
  for (let length = 0; length < end; length += 1) {
    expect(() => parse(whole.subarray(0, length)), `first ${length} bytes`).toThrow(MalformedList);
  }
  expect(parse(whole.subarray(0, end)).items).toHaveLength(2);
});

const list = encodeList([NODE]);
const withMetadata = (field: Buffer) => encodeAnswer(Buffer.concat([list, bytesField(2, bytesField(1, field))]));

test.each([
  ['a page', encodeAnswer(encodeList([], { continue: 'abc' }))],
  ['a page whose metadata repeats', encodeAnswer(Buffer.concat([encodeList([], { continue: 'abc' }), encodeList([])]))],
  ['no version', encodeAnswer(encodeList([], { resourceVersion: '' }))],
  ['an empty envelope', encodeAnswer(Buffer.alloc(0))],
  ['another kind', encodeAnswer(list, { kind: 'Status' })],
  ['two lists', Buffer.concat([encodeAnswer(list), bytesField(2, list)])],
  ['an item that is longer than the list', encodeAnswer(Buffer.concat([list, Buffer.from([0x12, 2])]))],
  ['a number where an item should be', encodeAnswer(Buffer.concat([list, numberField(2, 1)]))],
  ['a number where the annotations of an item should be', withMetadata(numberField(12, 1))],
  ['a number where the name of an item should be', withMetadata(numberField(1, 1))],
  ['an unknown wire type in an item', encodeAnswer(bytesField(2, Buffer.from([0x0b])))],
])('rejects %s', (_title, bytes) => {
  expect(() => parse(bytes)).toThrow(MalformedList);
});

const nodeKey = fc.oneof(
  fc.constantFrom(...NODE_FIELDS).map((field) => `${PREFIX}${field}`),
  key,
);
const config = fc.constantFrom('', 'rendered-1', 'drain-rendered-1', 'uncordon-rendered-2', 'x');
const node = fc.record({
  name: fc.constantFrom('w0', 'w1'),
  labels: fc.dictionary(fc.oneof(fc.constant('kubernetes.io/os'), nodeKey), fc.constantFrom('linux', 'windows')),
  annotations: fc.dictionary(nodeKey, config),
  hasValuesFirst: fc.boolean(),
  creationSeconds: fc.option(seconds, { nil: undefined }),
});
type NodeToEncode = typeof node extends fc.Arbitrary<infer Item> ? Item : never;

function parseNodes(items: readonly NodeToEncode[], isNeeded: ObjectFilter) {
  const referrers: NodeReferrer[] = [];
  const parser = new ProtobufListParser((item) => void referrers.push(parseNodeReferrer(item)), isNeeded);
  parser.write(encodeAnswer(encodeList(items)));
  parser.end();
  return { referrers, itemCount: parser.itemCount };
}

/** As from a list in JSON. */
function toReferrer({ creationSeconds, ...metadata }: NodeToEncode): NodeReferrer {
  const creationTimestamp = creationSeconds && new Date(creationSeconds * 1_000).toISOString();
  return parseNodeReferrer({ metadata: { ...metadata, creationTimestamp } });
}

test('skips only nodes that have reported a config and name none of those in question', () => {
  const configs = new Set(['rendered-1', 'rendered-2'].map(toConfigName));
  const isInQuestion = ({ references, state }: NodeReferrer) =>
    state.type !== 'configured' || references.some((reference) => configs.has(reference.config));
  let skipped = 0;
  checkProperty(
    fc.property(fc.array(node, { maxLength: 12 }), (items) => {
      const { referrers, itemCount } = parseNodes(items, createNodeFilter(configs));
      expect(referrers.filter(isInQuestion)).toEqual(items.map(toReferrer).filter(isInQuestion));
      expect(itemCount).toBe(items.length);
      skipped += itemCount - referrers.length;
    }),
    500,
  );
  expect(skipped).toBeGreaterThan(0);
});
