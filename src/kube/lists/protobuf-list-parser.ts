import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import { ListParser, METADATA } from './list-parser.ts';

/** Precedes every message of the Kubernetes API (k8s.io/apimachinery, pkg/runtime/serializer/protobuf). */
const MAGIC = Buffer.from('k8s\0', 'latin1');
/** Field numbers of runtime.Unknown, the envelope of a response (k8s.io/apimachinery, pkg/runtime/generated.proto). */
const ENVELOPE = { typeMeta: 1, raw: 2 } as const;
/** Field numbers in k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto. */
const TYPE_META = { apiVersion: 1, kind: 2 } as const;
const LIST = { metadata: 1, items: 2 } as const;
const LIST_META = { resourceVersion: 2, continue: 3 } as const;
const OBJECT = { metadata: 1 } as const;
const META = {
  name: 1,
  namespace: 3,
  uid: 5,
  creationTimestamp: 8,
  deletionTimestamp: 9,
  labels: 11,
  annotations: 12,
  ownerReferences: 13,
} as const;
const OWNER = { kind: 1, name: 3 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const TIME = { seconds: 1 } as const;

/** A tag and a length, each at most ten bytes. */
const MAX_HEADER_BYTES = 20;

type TextMap = Record<string, string>;

/** Times are in milliseconds, because a formatted time takes longer than all other fields of a node together. */
type ParsedMetadata = Record<'labels' | 'annotations', TextMap> & {
  -readonly [Key in keyof NonNullable<ApiObject['metadata']>]: NonNullable<ApiObject['metadata']>[Key];
} & { readonly ownerReferences: Readonly<Record<'kind' | 'name', string>>[] };

/** Whether to parse an object, from its bytes. */
export type ObjectFilter = (object: Buffer) => boolean;

/** Parses a metadata-only list in protobuf, in a third of the time of JSON. It skips the managed fields. */
export class ProtobufListParser extends ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #isNeeded: ObjectFilter;
  #hasMagic = false;
  /** How many bytes of the list follow. Undefined before the list. */
  #listBytesLeft: number | undefined;
  #type = { apiVersion: '', kind: '' };
  #metadata = { resourceVersion: '', continue: '' };

  constructor(onItem: (item: ApiObject) => void, isNeeded: ObjectFilter = () => true) {
    super();
    this.#onItem = onItem;
    this.#isNeeded = isNeeded;
  }

  /** Every field of the envelope and of the list has a length. */
  protected override parseParts(bytes: Buffer, isEnd: boolean): number {
    const reader = new ProtobufReader(bytes);
    const lastStart = bytes.length - (isEnd ? 1 : MAX_HEADER_BYTES);
    let start = this.#hasMagic || lastStart < 0 ? 0 : MAGIC.length;
    if (start > 0 && !bytes.subarray(0, start).equals(MAGIC)) throw new MalformedList('the response is not protobuf');
    this.#hasMagic ||= start > 0;
    while (start <= lastStart) {
      reader.at = start;
      reader.readHeader();
      if (reader.wireType !== LENGTH_DELIMITED) throw new MalformedList('the response is not a list');
      const bytesLeft = this.#listBytesLeft ?? 0;
      const isInList = bytesLeft > 0;
      if (reader.field === ENVELOPE.raw && !isInList) {
        if (this.#listBytesLeft !== undefined) throw new MalformedList('the response holds more than one list');
        this.#listBytesLeft = reader.end - reader.start;
        start = reader.start;
        continue;
      }
      const { end } = reader;
      if (end > bytes.length) break;
      if (isInList) {
        this.#listBytesLeft = bytesLeft - (end - start);
        if (this.#listBytesLeft < 0) throw new MalformedList('a part of the list is longer than the list');
        if (reader.field === LIST.items) this.#readItem(reader, bytes);
        else if (reader.field === LIST.metadata) {
          if (this.#metadata.resourceVersion !== '') throw new MalformedList('the list has its metadata twice');
          this.#metadata = readTexts(reader, LIST_META);
        }
      } else if (reader.field === ENVELOPE.typeMeta) this.#type = readTexts(reader, TYPE_META);
      start = end;
    }
    return start;
  }

  protected override finish() {
    const { apiVersion, kind } = this.#type;
    if (apiVersion !== METADATA.apiVersion || kind !== `${METADATA.kind}List`)
      throw new MalformedList('the response is not a list');
    if (this.#listBytesLeft !== 0) throw new MalformedList('the list is incomplete');
    return this.#metadata;
  }

  #readItem(reader: ProtobufReader, bytes: Buffer): void {
    this.countItem();
    if (!this.#isNeeded(bytes.subarray(reader.start, reader.end))) return;
    const metadata: ParsedMetadata = { labels: {}, annotations: {}, ownerReferences: [] };
    const end = reader.enter();
    while (reader.next(end)) if (reader.field === OBJECT.metadata) parseMetadata(reader, metadata);
    this.#onItem({ metadata });
  }
}

function parseMetadata(reader: ProtobufReader, metadata: ParsedMetadata): void {
  const end = reader.enter();
  while (reader.next(end)) {
    const { field } = reader;
    if (field === META.annotations) addEntry(reader, metadata.annotations);
    else if (field === META.name) metadata.name = reader.text();
    else if (field === META.namespace) metadata.namespace = reader.text();
    else if (field === META.creationTimestamp) metadata.creationTimestamp = readTime(reader);
    else if (field === META.labels) addEntry(reader, metadata.labels);
    else if (field === META.ownerReferences) metadata.ownerReferences.push(readTexts(reader, OWNER));
    else if (field === META.uid) metadata.uid = reader.text();
    else if (field === META.deletionTimestamp) metadata.deletionTimestamp = readTime(reader);
  }
}

function addEntry(reader: ProtobufReader, target: TextMap): void {
  const end = reader.enter();
  let key = '';
  let value = '';
  while (reader.next(end)) {
    if (reader.field === ENTRY.key) key = reader.text();
    else if (reader.field === ENTRY.value) value = reader.text();
  }
  // No label or annotation can have this name, which would change the prototype.
  if (key !== '__proto__') target[key] = value;
}

/** Reads the texts of these fields of the message in the current field. An absent text is empty. */
function readTexts<Name extends string>(
  reader: ProtobufReader,
  numbers: Readonly<Record<Name, number>>,
): Record<Name, string> {
  const end = reader.enter();
  const names = Object.keys(numbers) as Name[];
  const texts = Object.fromEntries(names.map((name) => [name, ''])) as Record<Name, string>;
  while (reader.next(end)) for (const name of names) if (reader.field === numbers[name]) texts[name] = reader.text();
  return texts;
}

function readTime(reader: ProtobufReader): number | undefined {
  const end = reader.enter();
  let seconds: number | undefined;
  while (reader.next(end)) if (reader.field === TIME.seconds) seconds = reader.value;
  return seconds === undefined ? undefined : seconds * 1_000;
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;
/** The bytes of wire types whose length is fixed. */
const FIXED_LENGTHS: Readonly<Record<number, number>> = { [VARINT]: 0, 1: 8, 5: 4 };
/** 64 bits, seven in each byte. */
const MAX_VARINT_BYTES = 10;

/**
 * Reads the fields of messages without copying them (protobuf.dev/programming-guides/encoding). After {@link next},
 * `field` is the field number. A text or a message lies between `start` and `end`, and a number is `value`.
 *
 * The package pbf is no alternative: it parses a list of 2,000 nodes in 21 ms, and this class in 6 ms.
 */
export class ProtobufReader {
  /** Where the next field starts. */
  at = 0;
  field = 0;
  wireType = 0;
  start = 0;
  end = 0;
  /** Exact up to 2^53. */
  value = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next field of the message that ends at `limit`. Throws MalformedList. */
  next(limit: number): boolean {
    if (this.at === limit) return false;
    this.readHeader();
    this.at = this.end;
    if (this.end > limit) throw new MalformedList('a field is longer than its message');
    return true;
  }

  /** Reads where the next field starts and ends, which can be behind the last byte. Throws MalformedList. */
  readHeader(): void {
    const tag = this.#readVarint();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    const hasNumber = this.wireType === VARINT || this.wireType === LENGTH_DELIMITED;
    this.value = hasNumber ? this.#readVarint() : 0;
    const length = this.wireType === LENGTH_DELIMITED ? this.value : FIXED_LENGTHS[this.wireType];
    if (length === undefined) throw new MalformedList('a field has a type that is not in use');
    this.start = this.at;
    this.end = this.at + length;
  }

  /** Moves to the first field of the message in the current field, and returns where it ends. Throws MalformedList. */
  enter(): number {
    this.#assertLength();
    this.at = this.start;
    return this.end;
  }

  text(): string {
    this.#assertLength();
    return this.#bytes.toString('utf8', this.start, this.end);
  }

  /** A number in the place of a text or a message would look like an empty one. */
  #assertLength(): void {
    if (this.wireType !== LENGTH_DELIMITED) throw new MalformedList('a number is in the place of a text or a message');
  }

  #readVarint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < MAX_VARINT_BYTES; count += 1) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new MalformedList('a number is cut off');
  }
}
