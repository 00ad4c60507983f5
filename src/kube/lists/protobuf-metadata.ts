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

type KeysByLength = ReadonlyMap<number, readonly { readonly key: string; readonly bytes: Buffer }[]>;

/**
 * If `annotations` is present, only the names, these annotations and the creationTimestamp in milliseconds are kept. An
 * object with none of these annotations keeps everything.
 */
export interface WantedMetadata {
  readonly annotations?: readonly string[];
}

/**
 * Parses PartialObjectMetadata: name, namespace, uid, times, labels, annotations, and kind and name of the owners, or
 * only the wanted ones. These are 5 % of a node's metadata, so everything else is skipped.
 */
export class MetadataParser {
  /** The wanted annotations. Their length alone excludes almost every other one. */
  readonly #wanted: KeysByLength | undefined;
  // Reused, because a list has thousands of messages.
  readonly #metadata = new ProtobufReader(NO_BYTES);
  readonly #entry = new ProtobufReader(NO_BYTES);

  constructor({ annotations }: WantedMetadata) {
    if (annotations !== undefined) this.#wanted = groupByLength(annotations);
  }

  /** @throws MalformedList */
  readonly parse = (object: ProtobufReader): ApiObject => {
    // No prototype, because the keys are untrusted.
    const labels = Object.create(null) as Record<string, string>;
    const annotations = Object.create(null) as Record<string, string>;
    const ownerReferences: OwnerReference[] = [];
    const values: Record<string, unknown> = { labels, annotations, ownerReferences };
    while (object.next()) {
      if (object.field !== OBJECT.metadata) continue;
      if (this.#wanted !== undefined && this.#parseWanted(object, values, annotations, this.#wanted)) continue;
      const metadata = this.#metadata.enter(object);
      while (metadata.next()) {
        const { field } = metadata;
        if (field === OBJECT_META.annotations) this.#parseEntry(metadata, annotations);
        else if (field === OBJECT_META.name) values['name'] = metadata.text();
        else if (field === OBJECT_META.namespace) values['namespace'] = metadata.text();
        else if (field === OBJECT_META.labels) this.#parseEntry(metadata, labels);
        else if (field === OBJECT_META.creationTimestamp) values['creationTimestamp'] = parseTime(metadata);
        else if (field === OBJECT_META.ownerReferences) ownerReferences.push(parseOwner(metadata));
        else if (field === OBJECT_META.uid) values['uid'] = metadata.text();
        else if (field === OBJECT_META.deletionTimestamp) values['deletionTimestamp'] = parseTime(metadata);
      }
    }
    return { metadata: values };
  };

  /** Returns whether the object has a wanted annotation. Labels precede annotations, so others are parsed again. */
  #parseWanted(
    object: ProtobufReader,
    values: Record<string, unknown>,
    annotations: Record<string, string>,
    wanted: KeysByLength,
  ): boolean {
    const metadata = this.#metadata.enter(object);
    let hasWanted = false;
    while (metadata.next()) {
      const { field } = metadata;
      if (field === OBJECT_META.annotations) hasWanted = this.#parseEntry(metadata, annotations, wanted) || hasWanted;
      else if (field === OBJECT_META.name) values['name'] = metadata.text();
      else if (field === OBJECT_META.namespace) values['namespace'] = metadata.text();
      else if (field === OBJECT_META.creationTimestamp) values['creationTimestamp'] = parseMs(metadata);
    }
    return hasWanted;
  }

  /** Parses an entry of a map. If `wanted` is present, other entries are skipped. Returns whether it was parsed. */
  #parseEntry(metadata: ProtobufReader, target: Record<string, string>, wanted?: KeysByLength): boolean {
    const entry = this.#entry.enter(metadata);
    let key = wanted === undefined ? '' : undefined;
    let value = '';
    while (entry.next()) {
      if (entry.field === ENTRY.key) {
        key = wanted === undefined ? entry.text() : findKey(entry, wanted);
        if (key === undefined) return false;
      } else if (entry.field === ENTRY.value) {
        value = entry.text();
      }
    }
    if (key === undefined) return false;
    target[key] = value;
    return true;
  }
}

interface OwnerReference {
  readonly kind: string;
  readonly name: string;
}

function parseOwner(field: ProtobufReader): OwnerReference {
  const owner = field.message();
  let [kind, name] = ['', ''];
  while (owner.next()) {
    if (owner.field === OWNER.kind) kind = owner.text();
    else if (owner.field === OWNER.name) name = owner.text();
  }
  return { kind, name };
}

function findKey(field: ProtobufReader, keys: KeysByLength): string | undefined {
  return keys.get(field.end - field.start)?.find(({ bytes }) => field.is(bytes))?.key;
}

function groupByLength(keys: readonly string[]): KeysByLength {
  const groups = new Map<number, { key: string; bytes: Buffer }[]>();
  for (const key of keys) {
    const bytes = Buffer.from(key);
    groups.set(bytes.length, [...(groups.get(bytes.length) ?? []), { key, bytes }]);
  }
  return groups;
}

/** Formats whole seconds, as in JSON. For thousands of nodes this takes longer than all their other wanted fields. */
function parseTime(field: ProtobufReader): string | undefined {
  const ms = parseMs(field);
  return ms === undefined ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** An empty Time message has none. */
function parseMs(field: ProtobufReader): number | undefined {
  const time = field.message();
  let seconds: number | undefined;
  while (time.next()) if (time.field === TIME.seconds) seconds = time.value;
  return seconds === undefined ? undefined : seconds * 1_000;
}
