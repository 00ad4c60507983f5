import type { ApiObject } from '../policy/referrer.ts';
import { Fields } from './protobuf.ts';

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
export function readMetadata(object: Fields): ApiObject {
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

function readEntry(entry: Fields, into: Record<string, string>): void {
  let [key, value] = ['', ''];
  while (entry.next()) {
    if (entry.field === ENTRY.key) key = entry.text();
    else if (entry.field === ENTRY.value) value = entry.text();
  }
  into[key] = value;
}

/** As JSON has it; whole seconds, for the API keeps no more. An empty one means none. */
function time(field: Fields): string | undefined {
  const parts = field.inside();
  let seconds: number | undefined;
  while (parts.next()) if (parts.field === TIME.seconds) seconds = parts.value;
  return seconds === undefined ? undefined : new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z');
}

function empty<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>;
}

/**
 * Reads of objects in protobuf their names and a few annotations. Of a node that is one byte in twenty, and a permission waits for all of them:
 * the rest is stepped over, and no text is made twice.
 */
export class WantedAnnotations {
  /** By the length of their names: for nearly all annotations of a node that is enough to know that they are not wanted. */
  readonly #byLength: (readonly WantedAnnotation[] | undefined)[] = [];

  // One walker for many small messages leaves no garbage.
  readonly #fields = new Fields(NOTHING);
  readonly #entry = new Fields(NOTHING);

  constructor(keys: readonly string[]) {
    for (const key of keys) {
      const one = new WantedAnnotation(key);
      this.#byLength[one.bytes.length] = [...(this.#byLength[one.bytes.length] ?? []), one];
    }
  }

  /**
   * The next object, a PartialObjectMetadata.
   *
   * @throws BrokenMessage
   */
  readonly read = (object: Fields): ApiObject => {
    let name: string | undefined;
    const annotations: Record<string, string> = {};
    while (object.next()) {
      if (object.field !== OBJECT.metadata) continue;
      const fields = this.#fields.enter(object);
      while (fields.next()) {
        if (fields.field === OBJECT_META.annotations) this.#readEntry(this.#entry.enter(fields), annotations);
        else if (fields.field === OBJECT_META.name) name = fields.text();
      }
    }
    return { metadata: { name, annotations } };
  };

  #readEntry(entry: Fields, into: Record<string, string>): void {
    let wanted: WantedAnnotation | undefined;
    let value = '';
    while (entry.next()) {
      if (entry.field === ENTRY.key) {
        wanted = this.#wanted(entry);
        if (wanted === undefined) return;
      } else if (entry.field === ENTRY.value) {
        value = wanted === undefined ? entry.text() : wanted.valueOf(entry);
      }
    }
    if (wanted !== undefined) into[wanted.key] = value;
  }

  /** The annotation whose name this field is. */
  #wanted(key: Fields): WantedAnnotation | undefined {
    for (const one of this.#byLength[key.to - key.from] ?? NONE) if (key.is(one.bytes)) return one;
    return undefined;
  }
}

/** So many values of one annotation are remembered: nodes of a few pools, some of them on their way to another config. */
const REMEMBERED = 4;

const NOTHING = Buffer.alloc(0);
const NONE: readonly WantedAnnotation[] = [];

class WantedAnnotation {
  readonly key: string;
  readonly bytes: Buffer;
  readonly #values: { readonly bytes: Buffer; readonly text: string }[] = [];
  #oldest = 0;

  constructor(key: string) {
    this.key = key;
    this.bytes = Buffer.from(key);
  }

  /** The text of this field. Nodes have few different ones, and one that is known need not be made. */
  valueOf(field: Fields): string {
    for (const { bytes, text } of this.#values) if (field.is(bytes)) return text;
    const text = field.text();
    this.#values[this.#oldest] = { bytes: Buffer.from(text), text };
    this.#oldest = (this.#oldest + 1) % REMEMBERED;
    return text;
  }
}
