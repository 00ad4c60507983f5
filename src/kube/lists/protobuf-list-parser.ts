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

type TextMap = Record<string, string | undefined>;

/** Times are in milliseconds, because a formatted time takes longer than all other fields of a node together. */
type ParsedMetadata = Record<'labels' | 'annotations', TextMap> & {
  -readonly [Key in keyof NonNullable<ApiObject['metadata']>]: NonNullable<ApiObject['metadata']>[Key];
} & { readonly ownerReferences: Readonly<Record<'kind' | 'name', string>>[] };

/** The annotations to keep. */
interface Wanted {
  /** To copy all keys at once takes half the time of adding one after the other. */
  readonly template: TextMap;
  /** Of the keys. A length alone excludes almost every other annotation. */
  readonly lengths: ReadonlySet<number>;
}

/** Parses a metadata-only list in protobuf, in a third of the time of JSON. It skips 95 % of a node's metadata. */
export class ProtobufListParser extends ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #wanted: Wanted | undefined;
  readonly #texts = new TextCache();
  #hasMagic = false;
  /** How many bytes of the list follow. Undefined before the list. */
  #listBytesLeft: number | undefined;
  #type = { apiVersion: '', kind: '' };
  #metadata = { resourceVersion: '', continue: '' };

  /** @param wanted an object with one of these annotations keeps only them, its names and its creationTimestamp */
  constructor(onItem: (item: ApiObject) => void, wanted?: readonly string[]) {
    super();
    this.#onItem = onItem;
    this.#wanted = wanted && {
      template: Object.fromEntries(wanted.map((key) => [key, undefined])),
      lengths: new Set(wanted.map((key) => Buffer.byteLength(key))),
    };
  }

  /** Every field of the envelope and of the list has a length. */
  protected override parse(bytes: Buffer, isEnd: boolean): number {
    const reader = new ProtobufReader(bytes, this.#texts);
    const lastStart = bytes.length - (isEnd ? 1 : MAX_HEADER_BYTES);
    let start = this.#hasMagic || lastStart < 0 ? 0 : MAGIC.length;
    if (start > 0 && !bytes.subarray(0, start).equals(MAGIC)) throw new MalformedList('the response is not protobuf');
    this.#hasMagic ||= start > 0;
    while (start <= lastStart) {
      const tag = readVarint(bytes, start);
      const length = readVarint(bytes, tag.end);
      const field = Math.floor(tag.value / 8);
      if (tag.value % 8 !== LENGTH_DELIMITED) throw new MalformedList('the response is not a list');
      const isInList = this.#listBytesLeft !== undefined && this.#listBytesLeft > 0;
      if (field === ENVELOPE.raw && !isInList) {
        if (this.#listBytesLeft !== undefined) throw new MalformedList('the response holds more than one list');
        this.#listBytesLeft = length.value;
        start = length.end;
        continue;
      }
      const end = length.end + length.value;
      if (end > bytes.length) break;
      reader.moveTo(length.end);
      if (isInList) {
        this.#listBytesLeft = (this.#listBytesLeft ?? 0) - (end - start);
        if (this.#listBytesLeft < 0) throw new MalformedList('a part of the list is longer than the list');
        if (field === LIST.items) this.#onItem({ metadata: this.#parseItem(reader, end) });
        else if (field === LIST.metadata) this.#metadata = readTexts(reader, end, LIST_META);
      } else if (field === ENVELOPE.typeMeta) this.#type = readTexts(reader, end, TYPE_META);
      start = end;
    }
    return start;
  }

  protected override finish() {
    const { apiVersion, kind } = this.#type;
    const isList = apiVersion === METADATA.apiVersion && kind === `${METADATA.kind}List`;
    if (!isList) throw new MalformedList('the response is not a list');
    if (this.#listBytesLeft !== 0) throw new MalformedList('the list is incomplete');
    return this.#metadata;
  }

  #parseItem(reader: ProtobufReader, end: number): ParsedMetadata {
    let metadata = createMetadata();
    while (reader.next(end)) {
      if (reader.field !== OBJECT.metadata) continue;
      const { start } = reader;
      const metadataEnd = reader.enter();
      metadata = createMetadata(this.#wanted);
      if (parseMetadata(reader, metadataEnd, metadata, this.#wanted)) continue;
      // Labels precede annotations, so an object without a wanted annotation is parsed again.
      reader.moveTo(start);
      metadata = createMetadata();
      parseMetadata(reader, metadataEnd, metadata);
    }
    return metadata;
  }
}

function createMetadata(wanted?: Wanted): ParsedMetadata {
  return { labels: {}, annotations: { ...wanted?.template }, ownerReferences: [] };
}

/** Returns whether the object has an annotation that is wanted. */
function parseMetadata(reader: ProtobufReader, end: number, metadata: ParsedMetadata, wanted?: Wanted): boolean {
  let hasWanted = false;
  while (reader.next(end)) {
    const { field } = reader;
    if (field === META.annotations) hasWanted = addEntry(reader, metadata.annotations, wanted) || hasWanted;
    else if (field === META.name) metadata.name = reader.text();
    else if (field === META.namespace) metadata.namespace = reader.text();
    else if (field === META.creationTimestamp) metadata.creationTimestamp = readTime(reader);
    else if (wanted !== undefined) continue;
    else if (field === META.labels) addEntry(reader, metadata.labels);
    else if (field === META.ownerReferences) metadata.ownerReferences.push(readTexts(reader, reader.enter(), OWNER));
    else if (field === META.uid) metadata.uid = reader.text();
    else if (field === META.deletionTimestamp) metadata.deletionTimestamp = readTime(reader);
  }
  return hasWanted;
}

/** Adds an entry of a map unless another one is wanted. Returns whether it was added. */
function addEntry(reader: ProtobufReader, target: TextMap, wanted?: Wanted): boolean {
  const end = reader.enter();
  let key: string | undefined;
  let value = '';
  while (reader.next(end)) {
    if (reader.field === ENTRY.value) value = reader.commonText();
    if (reader.field !== ENTRY.key) continue;
    if (wanted?.lengths.has(reader.end - reader.start) === false) reader.moveTo(end);
    else key = reader.commonText();
  }
  // No label or annotation can have this name, which would change the prototype.
  if (key === undefined || key === '__proto__') return false;
  if (wanted !== undefined && !Object.hasOwn(wanted.template, key)) return false;
  target[key] = value;
  return true;
}

/** Reads the texts of these fields. An absent text is empty. */
function readTexts<Name extends string>(
  reader: ProtobufReader,
  end: number,
  numbers: Readonly<Record<Name, number>>,
): Record<Name, string> {
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

const FIRST_NON_ASCII = 0x80;
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
  field = 0;
  start = 0;
  end = 0;
  /** Exact up to 2^53. */
  value = 0;
  readonly #bytes: Buffer;
  readonly #texts: TextCache;
  #at = 0;

  constructor(bytes: Buffer, texts = new TextCache()) {
    this.#bytes = bytes;
    this.#texts = texts;
  }

  /** Moves to the next field of the message that ends at `limit`. Throws MalformedList. */
  next(limit: number): boolean {
    if (this.#at === limit) return false;
    const tag = this.#varint();
    const wireType = tag & 7;
    this.field = Math.floor(tag / 8);
    this.value = wireType === VARINT || wireType === LENGTH_DELIMITED ? this.#varint() : 0;
    const length = wireType === LENGTH_DELIMITED ? this.value : FIXED_LENGTHS[wireType];
    if (length === undefined) throw new MalformedList('a field has a type that is not in use');
    this.start = this.#at;
    this.end = this.#at + length;
    this.#at = this.end;
    if (this.end > limit) throw new MalformedList('a field is longer than its message');
    return true;
  }

  /** Moves to the first field of the message in the current field, and returns where it ends. */
  enter(): number {
    this.#at = this.start;
    return this.end;
  }

  moveTo(at: number): void {
    this.#at = at;
  }

  text(): string {
    return this.#bytes.toString('utf8', this.start, this.end);
  }

  /** The same for a text that many objects have. */
  commonText(): string {
    return this.#texts.read(this.#bytes, this.start, this.end);
  }

  #varint(): number {
    // Almost all numbers have one byte or two.
    const first = this.#bytes[this.#at] ?? 0x80;
    const second = first < 0x80 ? 0x80 : (this.#bytes[this.#at + 1] ?? 0x80);
    if (first < 0x80 || second < 0x80) this.#at += first < 0x80 ? 1 : 2;
    if (first < 0x80) return first;
    if (second < 0x80) return (first & 0x7f) + 128 * second;
    const { value, end } = readVarint(this.#bytes, this.#at);
    this.#at = end;
    return value;
  }
}

/** A name of a config or of an annotation is shorter. */
const MAX_CACHED_LENGTH = 128;
const CACHE_SLOTS = 256;

/**
 * Remembers short texts. Thousands of nodes have the same keys and configs. To compare bytes takes a third of the time
 * of a new string, and the index keeps one string instead of thousands.
 */
export class TextCache {
  readonly #slots = Array.from({ length: CACHE_SLOTS }, () => '');

  /** Decodes UTF-8. Returns an equal text that it has returned before, if it still knows it. */
  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0 || length > MAX_CACHED_LENGTH) return bytes.toString('utf8', start, end);
    // Keys differ near their end: `currentConfig` and `desiredConfig` before the last six characters.
    const slot = (length + 31 * (bytes[end - 1] ?? 0) + 7 * (bytes[end - 7] ?? 0)) % CACHE_SLOTS;
    const cached = this.#slots[slot] ?? '';
    if (cached.length === length && isEqual(cached, bytes, start)) return cached;
    return (this.#slots[slot] = bytes.toString('utf8', start, end));
  }
}

/** Whether the bytes are this text in ASCII. */
function isEqual(text: string, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== bytes[start + at] || code >= FIRST_NON_ASCII) return false;
  }
  return true;
}

/** Reads the number that starts at `start`, and returns where it ends. Throws MalformedList if it is cut off. */
function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let scale = 1;
  for (let at = start; at < Math.min(bytes.length, start + MAX_VARINT_BYTES); at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: at + 1 };
    scale *= 128;
  }
  throw new MalformedList('a number is cut off');
}
