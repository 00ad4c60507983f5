import type { ApiObject } from '../api-object.ts';
import {
  MalformedList,
  MAX_ENVELOPE_BYTES,
  MAX_ITEM_BYTES,
  type ListMetadata,
  type ListParser,
} from './json-list-parser.ts';
import { MalformedProtobuf, ProtobufReader, PROTOBUF_MAGIC, readVarint } from './protobuf-reader.ts';
import { parseObjectMetadata, AnnotationsParser } from './protobuf-metadata.ts';
import { ByteQueue } from './byte-queue.ts';

/** Fields of runtime.Unknown, the envelope of every answer (k8s.io/apimachinery, pkg/runtime/generated.proto). */
const ENVELOPE = { typeMeta: 1, raw: 2, contentEncoding: 3 } as const;
const TYPE_META = { apiVersion: 1, kind: 2 } as const;
/** Fields in k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto. */
const LIST = { metadata: 1, items: 2 } as const;
const LIST_META = { resourceVersion: 2, continue: 3 } as const;

const LENGTH_DELIMITED = 2;
/** A tag and a length, each of at most this many bytes. */
const HEADER_MAX = 20;

/** What is read next: the first bytes, the fields of the envelope, or those of the list inside it. */
type Place = 'magic' | 'envelope' | 'list';

/**
 * Takes a PartialObjectMetadataList in protobuf apart while it arrives, as ListStream does it with JSON. Every length is written down
 * before what it measures: nothing has to be searched, what is not needed is stepped over, and a list that is cut short is
 * known to be.
 */
export class ProtobufListParser implements ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #readItem: (object: ProtobufReader) => ApiObject;
  #place: Place = 'magic';
  /** What has arrived and is not read yet. */
  readonly #unread = new ByteQueue();
  /** So many bytes have to be there before reading makes sense. */
  #needed = PROTOBUF_MAGIC.length;
  /** Bytes of the list that are still to come. */
  #left = 0;
  #hasList = false;
  #type = '';
  #resourceVersion = '';
  #continue = '';

  /**
   * With names of annotations, only those are kept, and the object's name (see {@link AnnotationsParser}).
   */
  constructor(onItem: (item: ApiObject) => void, annotations?: readonly string[]) {
    this.#onItem = onItem;
    this.#readItem = annotations === undefined ? parseObjectMetadata : new AnnotationsParser(annotations).parse;
  }

  /**
   * Takes the next bytes, of any number.
   *
   * @throws BrokenList, or whatever the item handler throws
   */
  write(chunk: Buffer): void {
    this.#unread.push(chunk);
    if (this.#unread.length < this.#needed) return;
    this.#unread.consume(asBrokenList(() => this.#read(this.#unread.bytes)));
  }

  /**
   * The list is complete as far as the sender is concerned.
   *
   * @throws BrokenList where it is not a whole metadata-only list
   */
  end(): ListMetadata {
    if (this.#place !== 'envelope' || !this.#hasList || this.#unread.length > 0)
      throw new MalformedList('the list is incomplete');
    if (this.#type !== 'meta.k8s.io/v1 PartialObjectMetadataList') throw new MalformedList('the answer is not a list');
    if (this.#continue !== '') throw new MalformedList('the list is only a page of a longer one');
    if (this.#resourceVersion === '') throw new MalformedList('the list has no resourceVersion');
    return { resourceVersion: this.#resourceVersion };
  }

  /** Reads as far as whole fields are there, and answers how far that is. */
  #read(bytes: Buffer): number {
    let at = 0;
    this.#needed = 1;
    while (at < bytes.length) {
      if (this.#place === 'magic') {
        if (!bytes.subarray(0, PROTOBUF_MAGIC.length).equals(PROTOBUF_MAGIC))
          throw new MalformedList('the answer is not protobuf of Kubernetes');
        this.#place = 'envelope';
        at = PROTOBUF_MAGIC.length;
        continue;
      }
      const header = fieldHeader(bytes, at);
      if (header === undefined) {
        this.#needed = bytes.length - at + 1;
        return at;
      }
      const { field, from, length } = header;
      const to = from + length;
      if (this.#place === 'envelope' && field === ENVELOPE.raw) {
        this.#beginList(length);
        at = from;
        continue;
      }
      if (length > (field === LIST.items ? MAX_ITEM_BYTES : MAX_ENVELOPE_BYTES))
        throw new MalformedList('a part of the list is too large');
      if (to > bytes.length) {
        this.#needed = to - at;
        return at;
      }
      const content = new ProtobufReader(bytes, from, to);
      if (this.#place === 'envelope') this.#readEnvelope(field, content, length);
      else this.#readList(field, content, to - at);
      at = to;
    }
    return at;
  }

  #beginList(length: number): void {
    if (this.#hasList) throw new MalformedList('the answer holds more than one list');
    this.#hasList = true;
    this.#left = length;
    if (length > 0) this.#place = 'list';
  }

  #readEnvelope(field: number, content: ProtobufReader, length: number): void {
    if (field === ENVELOPE.contentEncoding && length > 0) throw new MalformedList('the list is encoded once more');
    if (field !== ENVELOPE.typeMeta) return;
    let [apiVersion, kind] = ['', ''];
    while (content.next()) {
      if (content.field === TYPE_META.apiVersion) apiVersion = content.text();
      else if (content.field === TYPE_META.kind) kind = content.text();
    }
    this.#type = `${apiVersion} ${kind}`;
  }

  #readList(field: number, content: ProtobufReader, length: number): void {
    this.#left -= length;
    if (this.#left < 0) throw new MalformedList('a part of the list is longer than the list');
    if (this.#left === 0) this.#place = 'envelope';
    if (field === LIST.items) this.#onItem(this.#readItem(content));
    else if (field === LIST.metadata) this.#readListMeta(content);
  }

  #readListMeta(content: ProtobufReader): void {
    while (content.next()) {
      if (content.field === LIST_META.resourceVersion) this.#resourceVersion = content.text();
      else if (content.field === LIST_META.continue) this.#continue = content.text();
    }
  }
}

/** Tag and length of the field at a place; undefined where they have not arrived whole. Both messages have no other fields. */
function fieldHeader(
  bytes: Buffer,
  at: number,
): { readonly field: number; readonly from: number; readonly length: number } | undefined {
  const limit = Math.min(bytes.length, at + HEADER_MAX);
  const tag = readVarint(bytes, at, limit);
  if (tag.end === undefined) return undefined;
  const length = readVarint(bytes, tag.end, limit);
  if (length.end === undefined) return undefined;
  if (tag.value % 8 !== LENGTH_DELIMITED) throw new MalformedList('the answer is not a list');
  return { field: Math.floor(tag.value / 8), from: length.end, length: length.value };
}

/** What the walk over the fields finds wrong is wrong with the list. */
function asBrokenList<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedProtobuf) throw new MalformedList(error.message, { cause: error });
    throw error;
  }
}
