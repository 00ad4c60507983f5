// An encoder of its own: it shares no code with the parser that it tests.

export interface EncodedObject {
  readonly name: string;
  readonly uid?: string;
  readonly creationSeconds?: number | undefined;
  readonly deletionSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owners?: readonly { readonly kind: string; readonly name: string }[];
  /** Bytes of managed fields, which the guard ignores. */
  readonly managed?: Uint8Array;
  /** The values of every second entry precede their keys, because protobuf fixes no order of fields. */
  readonly hasValuesFirst?: boolean;
}

function varint(value: number) {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

type Part = Uint8Array | string;

export function bytesField(field: number, ...parts: readonly Part[]) {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

export function numberField(field: number, value: number) {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function mapFields(field: number, map: Readonly<Record<string, string>> = {}, hasValuesFirst = false) {
  return Object.entries(map).map(([key, value], index) => {
    const entry = [bytesField(1, key), bytesField(2, value)];
    return bytesField(field, ...(hasValuesFirst && index % 2 === 1 ? entry.toReversed() : entry));
  });
}

const timeField = (field: number, seconds: number) => bytesField(field, numberField(1, seconds), numberField(2, 0));

function encodeObject({ labels, annotations, owners = [], hasValuesFirst, ...object }: EncodedObject) {
  const { name, uid = '', managed = '', creationSeconds: created, deletionSeconds: deleted } = object;
  return bytesField(
    1,
    bytesField(1, name),
    bytesField(2),
    bytesField(5, uid),
    bytesField(6, '4711'),
    numberField(7, 3),
    // An absent time is an empty message.
    created === undefined ? bytesField(8) : timeField(8, created),
    ...(deleted === undefined ? [] : [timeField(9, deleted), numberField(10, 30)]),
    ...mapFields(11, labels, hasValuesFirst),
    ...mapFields(12, annotations, hasValuesFirst),
    ...owners.map(({ kind, name: owner }) =>
      bytesField(13, bytesField(1, kind), bytesField(3, owner), bytesField(4, 'owner-uid'), numberField(6, 1)),
    ),
    bytesField(17, managed),
  );
}

/** Encodes a list without its envelope. */
export function encodeList(items: readonly EncodedObject[], { resourceVersion = '7', continue: more = '' } = {}) {
  const metadata = bytesField(1, bytesField(1), bytesField(2, resourceVersion), bytesField(3, more));
  return Buffer.concat([metadata, ...items.map((item) => bytesField(2, encodeObject(item)))]);
}

/** Encodes the envelope of a response around `raw`. */
export function encodeAnswer(raw: Part, { apiVersion = 'meta.k8s.io/v1', kind = 'PartialObjectMetadataList' } = {}) {
  const type = bytesField(1, bytesField(1, apiVersion), bytesField(2, kind));
  return Buffer.concat([Buffer.from('k8s\0'), type, bytesField(2, raw), bytesField(3), bytesField(4)]);
}
