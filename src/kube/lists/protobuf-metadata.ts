import type { ApiObject } from '../api-object.ts';
import { ProtobufReader } from './protobuf-reader.ts';

/** Field numbers of PartialObjectMetadata (k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto). */
const OBJECT = { metadata: 1 } as const;
const OBJECT_META = {
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

const NO_BYTES = Buffer.alloc(0);

/**
 * If `annotations` is present, only the names, these annotations and the creationTimestamp are kept. An object with
 * none of these annotations keeps everything.
 */
export interface WantedMetadata {
  readonly annotations?: readonly string[];
}

type TextMap = Record<string, string>;

interface ParsedMetadata {
  name?: string;
  namespace?: string;
  uid?: string;
  creationTimestamp?: number | undefined;
  deletionTimestamp?: number | undefined;
  readonly labels: TextMap;
  readonly annotations: TextMap;
  readonly ownerReferences: { readonly kind: string; readonly name: string }[];
}

/**
 * Parses PartialObjectMetadata: name, namespace, uid, times in milliseconds, labels, annotations, and kind and name of
 * the owners, or only the wanted ones. These are 5 % of a node's metadata, so everything else is skipped.
 */
export class MetadataParser {
  readonly #wanted: ReadonlySet<string> | undefined;
  /** A length alone excludes almost every other annotation, without a text for its key. */
  readonly #wantedLengths: ReadonlySet<number>;
  // Reused, because a list has thousands of messages.
  readonly #metadata = new ProtobufReader(NO_BYTES);
  readonly #entry = new ProtobufReader(NO_BYTES);

  constructor({ annotations }: WantedMetadata) {
    if (annotations !== undefined) this.#wanted = new Set(annotations);
    this.#wantedLengths = new Set(annotations?.map((key) => Buffer.byteLength(key)));
  }

  /** @throws MalformedList */
  parse(object: ProtobufReader): ApiObject {
    // No prototype, because the keys are untrusted.
    const [labels, annotations] = [Object.create(null) as TextMap, Object.create(null) as TextMap];
    const metadata: ParsedMetadata = { labels, annotations, ownerReferences: [] };
    while (object.next()) {
      if (object.field !== OBJECT.metadata) continue;
      // Labels precede annotations, so an object without a wanted annotation is parsed again.
      if (this.#wanted === undefined || !this.#parseFields(object, metadata, this.#wanted)) {
        this.#parseFields(object, metadata);
      }
    }
    return { metadata };
  }

  /** Returns whether the object has an annotation that is wanted. */
  #parseFields(object: ProtobufReader, metadata: ParsedMetadata, wanted?: ReadonlySet<string>): boolean {
    const fields = this.#metadata.enter(object);
    let hasWanted = false;
    while (fields.next()) {
      const { field } = fields;
      if (field === OBJECT_META.annotations) {
        hasWanted = this.#parseEntry(fields, metadata.annotations, wanted) || hasWanted;
      } else if (field === OBJECT_META.name) metadata.name = fields.text();
      else if (field === OBJECT_META.namespace) metadata.namespace = fields.text();
      else if (field === OBJECT_META.creationTimestamp) metadata.creationTimestamp = parseTime(fields);
      else if (wanted !== undefined) continue;
      else if (field === OBJECT_META.labels) this.#parseEntry(fields, metadata.labels);
      else if (field === OBJECT_META.ownerReferences) metadata.ownerReferences.push(fields.message().texts(OWNER));
      else if (field === OBJECT_META.uid) metadata.uid = fields.text();
      else if (field === OBJECT_META.deletionTimestamp) metadata.deletionTimestamp = parseTime(fields);
    }
    return hasWanted;
  }

  /** Parses an entry of a map, unless another one is wanted. Returns whether it was parsed. */
  #parseEntry(field: ProtobufReader, target: TextMap, wanted?: ReadonlySet<string>): boolean {
    const entry = this.#entry.enter(field);
    let [key, value] = ['', ''];
    while (entry.next()) {
      if (entry.field === ENTRY.key) {
        if (wanted !== undefined && !this.#wantedLengths.has(entry.end - entry.start)) return false;
        key = entry.text();
      } else if (entry.field === ENTRY.value) {
        value = entry.text();
      }
    }
    if (wanted?.has(key) === false) return false;
    target[key] = value;
    return true;
  }
}

/** In milliseconds, because thousands of formatted times would take longer than all other fields of nodes together. */
function parseTime(field: ProtobufReader): number | undefined {
  const time = field.message();
  let seconds: number | undefined;
  while (time.next()) if (time.field === TIME.seconds) seconds = time.value;
  // An empty Time message has none.
  return seconds === undefined ? undefined : seconds * 1_000;
}
