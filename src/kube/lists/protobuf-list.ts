import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import { ByteQueue } from './byte-queue.ts';
import { METADATA } from './json-list.ts';
import { MetadataParser, type WantedMetadata } from './protobuf-metadata.ts';
import { LENGTH_DELIMITED, PROTOBUF_MAGIC, ProtobufReader, readVarint } from './protobuf-reader.ts';

/**
 * Field numbers of runtime.Unknown, the envelope of every response (k8s.io/apimachinery,
 * pkg/runtime/generated.proto).
 */
const ENVELOPE = { typeMeta: 1, raw: 2 } as const;
const TYPE_META = { apiVersion: 1, kind: 2 } as const;
/** Field numbers in k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto. */
const LIST = { metadata: 1, items: 2 } as const;
const LIST_META = { resourceVersion: 2, continue: 3 } as const;

/** etcd rejects objects over 1.5 MiB. */
const MAX_FIELD_BYTES = 8 * 1024 * 1024;
/** A tag and a length, each at most ten bytes. */
const MAX_HEADER_BYTES = 20;

/** Suspends until this many bytes are queued, or the body has ended. */
type Suspended<Result> = Generator<number, Result, void>;

/**
 * Parses a PartialObjectMetadataList in protobuf while it arrives: 5,000 nodes have 30 MB. A generator suspends where
 * bytes are missing, because a promise for each item and chunk costs more than their parsing (docs/adr/0007).
 */
export class ProtobufListParser {
  readonly #queue = new ByteQueue();
  readonly #parsing: Suspended<string>;
  #step: IteratorResult<number, string>;

  /** @param wanted if it has annotations, `onItem` gets only the {@link WantedMetadata} */
  constructor(onItem: (item: ApiObject) => void, wanted: WantedMetadata = {}) {
    this.#parsing = this.#parseEnvelope(onItem, wanted);
    this.#step = this.#parsing.next();
  }

  /** @throws MalformedList, or the error of the item handler */
  write(chunk: Buffer): void {
    this.#queue.push(chunk);
    if (this.#step.done !== true && this.#queue.length >= this.#step.value) this.#step = this.#parsing.next();
  }

  /**
   * Returns the resourceVersion.
   *
   * @throws MalformedList if the bytes are not one complete list
   */
  end(): string {
    while (this.#step.done !== true) this.#step = this.#parsing.next();
    return this.#step.value;
  }

  *#parseEnvelope(onItem: (item: ApiObject) => void, wanted: WantedMetadata): Suspended<string> {
    const magic = yield* this.#read(PROTOBUF_MAGIC.length);
    if (!magic.equals(PROTOBUF_MAGIC)) throw new MalformedList('the response is not protobuf of Kubernetes');
    let type: string | undefined;
    let resourceVersion: string | undefined;
    for (;;) {
      const header = yield* this.#readHeader();
      if (header === undefined) break;
      if (header.field === ENVELOPE.raw) {
        if (resourceVersion !== undefined) throw new MalformedList('the response holds more than one list');
        resourceVersion = yield* this.#parseList(header.length, onItem, wanted);
      } else {
        const content = yield* this.#read(header.length);
        if (header.field === ENVELOPE.typeMeta) type = parseType(new ProtobufReader(content));
      }
    }
    if (resourceVersion === undefined) throw new MalformedList('the list is incomplete');
    if (type !== `${METADATA.apiVersion} ${METADATA.kind}List`) throw new MalformedList('the response is not a list');
    return resourceVersion;
  }

  *#parseList(length: number, onItem: (item: ApiObject) => void, wanted: WantedMetadata): Suspended<string> {
    const { parse } = new MetadataParser(wanted);
    let resourceVersion = '';
    let left = length;
    while (left > 0) {
      const header = yield* this.#readHeader();
      if (header === undefined) throw new MalformedList('the list is incomplete');
      const content = new ProtobufReader(yield* this.#read(header.length));
      if (header.field === LIST.items) onItem(parse(content));
      else if (header.field === LIST.metadata) resourceVersion = parseResourceVersion(content);
      left -= header.bytes + header.length;
    }
    if (left < 0) throw new MalformedList('a part of the list is longer than the list');
    if (resourceVersion === '') throw new MalformedList('the list has no resourceVersion');
    return resourceVersion;
  }

  /** Every field of the envelope and of the list has a length. Returns undefined at the end of the body. */
  *#readHeader(): Suspended<{ readonly field: number; readonly length: number; readonly bytes: number } | undefined> {
    if (this.#queue.length < MAX_HEADER_BYTES) yield MAX_HEADER_BYTES;
    const { bytes } = this.#queue;
    if (bytes.length === 0) return undefined;
    const tag = readVarint(bytes, 0, bytes.length);
    const length = readVarint(bytes, tag.end, bytes.length);
    if (tag.value % 8 !== LENGTH_DELIMITED) throw new MalformedList('the response is not a list');
    this.#queue.consume(length.end);
    return { field: Math.floor(tag.value / 8), length: length.value, bytes: length.end };
  }

  *#read(length: number): Suspended<Buffer> {
    if (length > MAX_FIELD_BYTES) throw new MalformedList('a part of the list is too large');
    if (this.#queue.length < length) yield length;
    if (this.#queue.length < length) throw new MalformedList('the list is incomplete');
    const content = this.#queue.bytes.subarray(0, length);
    this.#queue.consume(length);
    return content;
  }
}

function parseResourceVersion(meta: ProtobufReader): string {
  let resourceVersion = '';
  while (meta.next()) {
    if (meta.field === LIST_META.resourceVersion) resourceVersion = meta.text();
    else if (meta.field === LIST_META.continue && meta.text() !== '')
      throw new MalformedList('the list is one page of several');
  }
  return resourceVersion;
}

function parseType(meta: ProtobufReader): string {
  let [apiVersion, kind] = ['', ''];
  while (meta.next()) {
    if (meta.field === TYPE_META.apiVersion) apiVersion = meta.text();
    else if (meta.field === TYPE_META.kind) kind = meta.text();
  }
  return `${apiVersion} ${kind}`;
}
