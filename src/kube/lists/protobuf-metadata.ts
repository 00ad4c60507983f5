import type { ApiObject } from '../api-object.ts';
import { ProtobufReader } from './protobuf-reader.ts';
import { Recent } from './recent.ts';

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

const NOTHING = Buffer.alloc(0);

type Annotations = Readonly<Record<string, string>>;

/**
 * Reads of objects in protobuf their names and a few annotations. Of a node that is one byte in twenty, and a permission waits for all of them:
 * the rest is stepped over, and what many nodes have in common is made once. Objects whose wanted annotations are the same share them.
 */
export class AnnotationsParser {
  readonly #wanted: readonly WantedAnnotation[];
  /** By the length of their names: for nearly all annotations of a node that is enough to know that they are not wanted. */
  readonly #byLength: (readonly WantedAnnotation[] | undefined)[] = [];
  readonly #recent = new Recent<Annotations>();
  // One walker for many small messages leaves no garbage.
  readonly #fields = new ProtobufReader(NOTHING);
  readonly #entry = new ProtobufReader(NOTHING);

  constructor(keys: readonly string[]) {
    this.#wanted = keys.map((key) => new WantedAnnotation(key));
    for (const one of this.#wanted) {
      this.#byLength[one.bytes.length] = [...(this.#byLength[one.bytes.length] ?? []), one];
    }
  }

  /**
   * The next object, a PartialObjectMetadata.
   *
   * @throws BrokenMessage
   */
  readonly read = (object: ProtobufReader): ApiObject => {
    let name: string | undefined;
    for (const one of this.#wanted) one.value = undefined;
    while (object.next()) {
      if (object.field !== OBJECT.metadata) continue;
      const fields = this.#fields.enter(object);
      while (fields.next()) {
        if (fields.field === OBJECT_META.annotations) this.#readEntry(this.#entry.enter(fields));
        else if (fields.field === OBJECT_META.name) name = fields.text();
      }
    }
    return { metadata: { name, annotations: this.#recent.find(this.#isFound) ?? this.#found() } };
  };

  #readEntry(entry: ProtobufReader): void {
    let wanted: WantedAnnotation | undefined;
    let value = '';
    while (entry.next()) {
      if (entry.field === ENTRY.key) {
        wanted = this.#wantedBy(entry);
        if (wanted === undefined) return;
      } else if (entry.field === ENTRY.value) {
        value = wanted === undefined ? entry.text() : wanted.textOf(entry);
      }
    }
    if (wanted !== undefined) wanted.value = value;
  }

  /** The annotation whose name this field is. */
  #wantedBy(key: ProtobufReader): WantedAnnotation | undefined {
    const candidates = this.#byLength[key.to - key.from];
    if (candidates === undefined) return undefined;
    for (const one of candidates) if (key.is(one.bytes)) return one;
    return undefined;
  }

  readonly #isFound = (annotations: Annotations): boolean => {
    for (const { key, value } of this.#wanted) if (annotations[key] !== value) return false;
    return true;
  };

  #found(): Annotations {
    const annotations: Record<string, string> = {};
    for (const { key, value } of this.#wanted) if (value !== undefined) annotations[key] = value;
    this.#recent.add(annotations);
    return annotations;
  }
}

class WantedAnnotation {
  readonly key: string;
  readonly bytes: Buffer;
  /** Of the object that is being read. */
  value: string | undefined;
  readonly #texts = new Recent<{ readonly bytes: Buffer; readonly text: string }>();

  constructor(key: string) {
    this.key = key;
    this.bytes = Buffer.from(key);
  }

  textOf(field: ProtobufReader): string {
    const known = this.#texts.find(({ bytes }) => field.is(bytes));
    if (known !== undefined) return known.text;
    const text = field.text();
    this.#texts.add({ bytes: Buffer.from(text), text });
    return text;
  }
}
