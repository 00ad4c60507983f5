import type { ApiObject } from '../api-object.ts';
import { ProtobufReader } from './protobuf-reader.ts';

/** Fields of PartialObjectMetadata and of what is in it (k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto). */
const OBJECT = { metadata: 1 } as const;
const OBJECT_META = {
  name: 1,
  uid: 5,
  creationTimestamp: 8,
  deletionTimestamp: 9,
  labels: 11,
  annotations: 12,
} as const;
const ENTRY = { key: 1, value: 2 } as const;
const TIME = { seconds: 1 } as const;

/**
 * A PartialObjectMetadata in protobuf.
 *
 * @throws BrokenMessage
 */
export function parseObjectMetadata(object: ProtobufReader): ApiObject {
  // Without a prototype: keys come from outside.
  const metadata = empty<unknown>();
  const [labels, annotations] = [empty<string>(), empty<string>()];
  const entry = object.inside();
  while (object.next()) {
    if (object.field !== OBJECT.metadata) continue;
    const fields = object.inside();
    while (fields.next()) {
      if (fields.field === OBJECT_META.annotations) readEntry(entry.enter(fields), annotations);
      else if (fields.field === OBJECT_META.name) metadata['name'] = fields.text();
      else if (fields.field === OBJECT_META.deletionTimestamp) metadata['deletionTimestamp'] = time(fields);
      else if (fields.field === OBJECT_META.uid) metadata['uid'] = fields.text();
      else if (fields.field === OBJECT_META.labels) readEntry(entry.enter(fields), labels);
      else if (fields.field === OBJECT_META.creationTimestamp) metadata['creationTimestamp'] = time(fields);
    }
  }
  return { metadata: { ...metadata, labels, annotations } };
}

function readEntry(entry: ProtobufReader, into: Record<string, string>): void {
  let [key, value] = ['', ''];
  while (entry.next()) {
    if (entry.field === ENTRY.key) key = entry.text();
    else if (entry.field === ENTRY.value) value = entry.text();
  }
  into[key] = value;
}

/** As JSON has it; whole seconds, for the API keeps no more. An empty one means none. */
function time(field: ProtobufReader): string | undefined {
  const parts = field.inside();
  let seconds: number | undefined;
  while (parts.next()) if (parts.field === TIME.seconds) seconds = parts.value;
  return seconds === undefined ? undefined : new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z');
}

function empty<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Parses only an object's name and some of its annotations. They are one byte in twenty of a node's metadata, and an
 * allowed deletion waits until all nodes are parsed, so everything else is skipped without being decoded.
 */
export class AnnotationsParser {
  /** By the byte length of the key: for almost every annotation of a node the length alone shows that it is not wanted. */
  readonly #keysByLength = new Map<number, readonly { readonly key: string; readonly bytes: Buffer }[]>();
  // Readers are reused: one per message would be thousands of objects for each list.
  readonly #metadata = new ProtobufReader(NO_BYTES);
  readonly #entry = new ProtobufReader(NO_BYTES);

  /** @param keys the annotations to keep */
  constructor(keys: readonly string[]) {
    for (const key of keys) {
      const bytes = Buffer.from(key);
      const sameLength = this.#keysByLength.get(bytes.length) ?? [];
      this.#keysByLength.set(bytes.length, [...sameLength, { key, bytes }]);
    }
  }

  /**
   * Parses the next PartialObjectMetadata.
   *
   * @throws MalformedProtobuf
   */
  readonly parse = (object: ProtobufReader): ApiObject => {
    let name: string | undefined;
    const annotations: Record<string, string> = {};
    while (object.next()) {
      if (object.field !== OBJECT.metadata) continue;
      const metadata = this.#metadata.enter(object);
      while (metadata.next()) {
        if (metadata.field === OBJECT_META.annotations) this.#parseEntry(this.#entry.enter(metadata), annotations);
        else if (metadata.field === OBJECT_META.name) name = metadata.text();
      }
    }
    return { metadata: { name, annotations } };
  };

  #parseEntry(entry: ProtobufReader, annotations: Record<string, string>): void {
    let key: string | undefined;
    let value = '';
    while (entry.next()) {
      if (entry.field === ENTRY.key) {
        key = this.#findKey(entry);
        if (key === undefined) return;
      } else if (entry.field === ENTRY.value) {
        value = entry.text();
      }
    }
    if (key !== undefined) annotations[key] = value;
  }

  #findKey(field: ProtobufReader): string | undefined {
    return this.#keysByLength.get(field.to - field.from)?.find(({ bytes }) => field.is(bytes))?.key;
  }
}
