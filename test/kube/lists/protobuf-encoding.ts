// An encoder of its own: it shares no code with the parser that it tests.

export interface EncodedObject {
  readonly name: string;
  readonly uid?: string;
  readonly creationSeconds?: number;
  readonly deletionSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owners?: readonly { readonly kind: string; readonly name: string }[];
  /** Bytes of managed fields, which the guard ignores. */
  readonly managed?: Uint8Array;
  /** The values of every second entry precede their keys, because protobuf fixes no order of fields. */
  readonly hasValuesFirst?: boolean;
}

export interface EncodedList {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly items: readonly EncodedObject[];
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

export function bytesField(field: number, content: Uint8Array | string) {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

export function numberField(field: number, value: number) {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function entries(field: number, map: Readonly<Record<string, string>> = {}, hasValuesFirst = false) {
  return Object.entries(map).map(([key, value], index) => {
    const entry = [bytesField(1, key), bytesField(2, value)];
    return bytesField(field, Buffer.concat(hasValuesFirst && index % 2 === 1 ? entry.toReversed() : entry));
  });
}

function timeField(field: number, seconds: number) {
  return bytesField(field, Buffer.concat([numberField(1, seconds), numberField(2, 0)]));
}

function encodeObject(object: EncodedObject) {
  const { name, uid = '', labels, annotations, owners = [], managed = '', hasValuesFirst } = object;
  const { creationSeconds: created, deletionSeconds: deleted } = object;
  const metadata = [
    bytesField(1, name),
    bytesField(2, ''),
    bytesField(5, uid),
    bytesField(6, '4711'),
    numberField(7, 3),
    // An absent time is an empty message.
    created === undefined ? bytesField(8, '') : timeField(8, created),
    ...(deleted === undefined ? [] : [timeField(9, deleted), numberField(10, 30)]),
    ...entries(11, labels, hasValuesFirst),
    ...entries(12, annotations, hasValuesFirst),
    ...owners.map((owner) =>
      bytesField(
        13,
        Buffer.concat([
          bytesField(1, owner.kind),
          bytesField(3, owner.name),
          bytesField(4, 'owner-uid'),
          bytesField(5, 'machineconfiguration.openshift.io/v1'),
          numberField(6, 1),
        ]),
      ),
    ),
    bytesField(17, managed),
  ];
  return bytesField(1, Buffer.concat(metadata));
}

/** Encodes a list without its envelope. */
export function encodeList({ resourceVersion, continue: more = '', items }: EncodedList) {
  const metadata = Buffer.concat([bytesField(1, ''), bytesField(2, resourceVersion), bytesField(3, more)]);
  return Buffer.concat([bytesField(1, metadata), ...items.map((item) => bytesField(2, encodeObject(item)))]);
}

/** Encodes the envelope of a response around `raw`. */
export function encodeAnswer(
  raw: Uint8Array,
  { apiVersion = 'meta.k8s.io/v1', kind = 'PartialObjectMetadataList' } = {},
) {
  const type = Buffer.concat([bytesField(1, apiVersion), bytesField(2, kind)]);
  const fields = [bytesField(1, type), bytesField(2, raw), bytesField(3, ''), bytesField(4, '')];
  return Buffer.concat([Buffer.from('k8s\0'), ...fields]);
}
