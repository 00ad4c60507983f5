import type { ApiObject } from '../api-object.ts';
import { ProtobufReader } from './protobuf-reader.ts';

/** Field numbers of PartialObjectMetadata (k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto). */
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

const NO_BYTES = Buffer.alloc(0);

/**
 * Parses a PartialObjectMetadata.
 *
 * @throws MalformedProtobuf
 */
export function parseObjectMetadata(object: ProtobufReader): ApiObject {
  // Without a prototype: the keys come from outside.
  const values = emptyRecord<unknown>();
  const labels = emptyRecord<string>();
  const annotations = emptyRecord<string>();
  const entry = object.message();
  while (object.next()) {
    if (object.field !== OBJECT.metadata) continue;
    const metadata = object.message();
    while (metadata.next()) {
      const { field } = metadata;
      if (field === OBJECT_META.annotations) parseEntry(entry.enter(metadata), annotations);
      else if (field === OBJECT_META.labels) parseEntry(entry.enter(metadata), labels);
      else if (field === OBJECT_META.name) values['name'] = metadata.text();
      else if (field === OBJECT_META.uid) values['uid'] = metadata.text();
      else if (field === OBJECT_META.creationTimestamp) values['creationTimestamp'] = parseTime(metadata);
      else if (field === OBJECT_META.deletionTimestamp) values['deletionTimestamp'] = parseTime(metadata);
    }
  }
  return { metadata: { ...values, labels, annotations } };
}

function parseEntry(entry: ProtobufReader, into: Record<string, string>): void {
  let key = '';
  let value = '';
  while (entry.next()) {
    if (entry.field === ENTRY.key) key = entry.text();
    else if (entry.field === ENTRY.value) value = entry.text();
  }
  into[key] = value;
}

/** As in JSON: whole seconds. An empty time means none. */
function parseTime(field: ProtobufReader): string | undefined {
  const time = field.message();
  let seconds: number | undefined;
  while (time.next()) if (time.field === TIME.seconds) seconds = time.value;
  return seconds === undefined ? undefined : new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z');
}

function emptyRecord<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>;
}

/**
 * Parses only the name and some annotations of a PartialObjectMetadata. They are one byte in twenty of a node's metadata,
 * and an allowed deletion waits until all nodes are parsed, so everything else is skipped without being decoded.
 */
export class AnnotationsParser {
  /** By the byte length of the key: for almost every annotation the length alone shows that it is not wanted. */
  readonly #keysByLength = new Map<number, readonly { readonly key: string; readonly bytes: Buffer }[]>();
  // Reused: one reader per message would be thousands of objects for each list.
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
   * Parses the next object.
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
    return this.#keysByLength.get(field.end - field.start)?.find(({ bytes }) => field.is(bytes))?.key;
  }
}
