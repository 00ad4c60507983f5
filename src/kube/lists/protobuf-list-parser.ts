import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import { ByteQueue } from './byte-queue.ts';
import { type ListParser, METADATA } from './list-parser.ts';
import { MetadataParser, type WantedMetadata } from './protobuf-metadata.ts';
import {
  LENGTH_DELIMITED,
  MalformedProtobuf,
  PROTOBUF_MAGIC,
  ProtobufReader,
  readVarint,
} from './protobuf-reader.ts';

/**
 * Field numbers of runtime.Unknown, the envelope of every response (k8s.io/apimachinery,
 * pkg/runtime/generated.proto).
 */
const ENVELOPE = { typeMeta: 1, raw: 2, contentEncoding: 3 } as const;
const TYPE_META = { apiVersion: 1, kind: 2 } as const;
/** Field numbers in k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto. */
const LIST = { metadata: 1, items: 2 } as const;
const LIST_META = { resourceVersion: 2, continue: 3 } as const;

/** etcd rejects objects over 1.5 MiB. */
const MAX_ITEM_BYTES = 8 * 1024 * 1024;
/** Limit for each field that is not an item. */
const MAX_ENVELOPE_BYTES = 1024 * 1024;
/** A tag and a length, each at most ten bytes. */
const MAX_HEADER_BYTES = 20;

/**
 * Parses a PartialObjectMetadataList in protobuf while it arrives. Each field starts with its length, so
 * unwanted fields are skipped and a truncated list is detected.
 */
export class ProtobufListParser implements ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #parseItem: (object: ProtobufReader) => ApiObject;
  /** The list lies inside the envelope. */
  #position: 'magic' | 'envelope' | 'list' = 'magic';
  /** Bytes that have arrived and are not parsed. */
  readonly #queue = new ByteQueue();
  /** The next field is complete once this many bytes are queued. */
  #neededBytes = PROTOBUF_MAGIC.length;
  #remainingListBytes = 0;
  #hasList = false;
  #type = '';
  #resourceVersion = '';
  #continue = '';

  /** @param wanted if it has annotations, keeps only the {@link WantedMetadata} */
  constructor(onItem: (item: ApiObject) => void, wanted: WantedMetadata = {}) {
    this.#onItem = onItem;
    this.#parseItem = new MetadataParser(wanted).parse;
  }

  write(chunk: Buffer): void {
    this.#queue.push(chunk);
    if (this.#queue.length < this.#neededBytes) return;
    try {
      this.#queue.consume(this.#parse(this.#queue.bytes));
    } catch (error) {
      if (error instanceof MalformedProtobuf) throw new MalformedList(error.message, { cause: error });
      throw error;
    }
  }

  end(): { resourceVersion: string } {
    if (this.#position !== 'envelope' || !this.#hasList || this.#queue.length > 0) {
      throw new MalformedList('the list is incomplete');
    }
    if (this.#type !== `${METADATA.apiVersion} ${METADATA.kind}List`)
      throw new MalformedList('the response is not a list');
    if (this.#continue !== '') throw new MalformedList('the list is one page of several');
    if (this.#resourceVersion === '') throw new MalformedList('the list has no resourceVersion');
    return { resourceVersion: this.#resourceVersion };
  }

  /** Parses all complete fields and returns where the first incomplete one starts. */
  #parse(bytes: Buffer): number {
    let offset = 0;
    this.#neededBytes = 1;
    while (offset < bytes.length) {
      if (this.#position === 'magic') {
        if (!bytes.subarray(0, PROTOBUF_MAGIC.length).equals(PROTOBUF_MAGIC)) {
          throw new MalformedList('the response is not protobuf of Kubernetes');
        }
        this.#position = 'envelope';
        offset = PROTOBUF_MAGIC.length;
        continue;
      }
      const header = readHeader(bytes, offset);
      if (header === undefined) {
        this.#neededBytes = bytes.length - offset + 1;
        return offset;
      }
      const { field, start, length } = header;
      const end = start + length;
      if (this.#position === 'envelope' && field === ENVELOPE.raw) {
        this.#startList(length);
        offset = start;
        continue;
      }
      if (length > (field === LIST.items ? MAX_ITEM_BYTES : MAX_ENVELOPE_BYTES)) {
        throw new MalformedList('a part of the list is too large');
      }
      if (end > bytes.length) {
        this.#neededBytes = end - offset;
        return offset;
      }
      const content = new ProtobufReader(bytes, start, end);
      if (this.#position === 'envelope') this.#parseEnvelopeField(field, content, length);
      else this.#parseListField(field, content, end - offset);
      offset = end;
    }
    return offset;
  }

  #startList(length: number): void {
    if (this.#hasList) throw new MalformedList('the response holds more than one list');
    this.#hasList = true;
    this.#remainingListBytes = length;
    if (length > 0) this.#position = 'list';
  }

  #parseEnvelopeField(field: number, content: ProtobufReader, length: number): void {
    if (field === ENVELOPE.contentEncoding && length > 0)
      throw new MalformedList('the list has a content encoding');
    if (field !== ENVELOPE.typeMeta) return;
    let apiVersion = '';
    let kind = '';
    while (content.next()) {
      if (content.field === TYPE_META.apiVersion) apiVersion = content.text();
      else if (content.field === TYPE_META.kind) kind = content.text();
    }
    this.#type = `${apiVersion} ${kind}`;
  }

  #parseListField(field: number, content: ProtobufReader, length: number): void {
    this.#remainingListBytes -= length;
    if (this.#remainingListBytes < 0) throw new MalformedList('a part of the list is longer than the list');
    if (this.#remainingListBytes === 0) this.#position = 'envelope';
    if (field === LIST.items) {
      this.#onItem(this.#parseItem(content));
    } else if (field === LIST.metadata) {
      while (content.next()) {
        if (content.field === LIST_META.resourceVersion) this.#resourceVersion = content.text();
        else if (content.field === LIST_META.continue) this.#continue = content.text();
      }
    }
  }
}

/** Returns undefined if the header is incomplete. Every field of the envelope and the list has a length. */
function readHeader(
  bytes: Buffer,
  offset: number,
): { readonly field: number; readonly start: number; readonly length: number } | undefined {
  const limit = Math.min(bytes.length, offset + MAX_HEADER_BYTES);
  const tag = readVarint(bytes, offset, limit);
  if (tag.end === undefined) return undefined;
  const length = readVarint(bytes, tag.end, limit);
  if (length.end === undefined) return undefined;
  if (tag.value % 8 !== LENGTH_DELIMITED) throw new MalformedList('the response is not a list');
  return { field: Math.floor(tag.value / 8), start: length.end, length: length.value };
}
