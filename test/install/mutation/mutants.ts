import type { Installed } from '../relations/relation.ts';

/** A change of one field, in all objects that have it with the same value. */
export interface Mutant {
  /** `KIND NAME: PATH: ` and what it changes. */
  readonly name: string;
  /** Changes the objects in place. Returns a function that changes them back. */
  readonly apply: () => () => void;
}

/** A field or an item of a list, and what contains it. */
interface Field {
  readonly path: string;
  readonly collection: Collection;
  readonly key: string;
}

type Collection = Record<string, unknown> | unknown[];

/** The first one that fits a text gives its changed form. The last one is a typing error. */
const REPLACEMENTS: readonly (readonly [RegExp, string | ((match: string) => string)])[] = [
  [/^true$/, 'false'],
  [/^false$/, 'true'],
  [/ && /, ' || '],
  [/ \|\| /, ' && '],
  [/!=/, '=='],
  [/==/, '!='],
  [/ > /, ' < '],
  [/ < /, ' > '],
  [/\d+/, (digits) => `${digits}1`],
  [/$/, 'x'],
];
/** The fields whose texts are programs: PromQL, CEL, shell, or an instruction of the Containerfile. */
const PROGRAM = /(?:xpr|xpression|run|^Containerfile: -)$/;
/** In a program, each place that fits is changed alone. */
const PROGRAM_REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d)(?!\d)/g, '1'],
  [/ && | \|\| /g, ' ^ '],
  [/\b(?:and|or|unless)\b/g, 'xor'],
  [/[!=]=~?/g, '>='],
  [/ [<>] /g, ' == '],
  [/ by \([^)]*\)/g, ''],
  [/ offset \w+/g, ''],
  [/\b(?:increase|max|max_over_time|min|rate|sum)(?= by|\()/g, 'avg'],
  [/ --[a-z][\w-]*(?:=[^\s"]+)?/g, ''],
];
export const EVERY_OBJECT = 'every object: label';
/** Labels that say which installation has created an object. */
export const COMMON_LABEL = /^(?:app\.kubernetes\.io|render\.machineconfig-guard\.io)\/(?!image)/;
const BASE64 = /^"[\w+/=]+"$/;
/** The fields that name an item of a list. */
const NAMES = ['name', 'alert', 'key', 'type', 'port', 'title', 'refId'];

/**
 * Lists a change of each scalar, and the removal of each field and each item, of everything that is installed. The
 * order is always the same.
 */
export function listMutants(installed: Installed): readonly Mutant[] {
  const fields = new Map<string, Field[]>();
  for (const { objects } of installed.sets) {
    for (const object of objects) {
      const { name, namespace } = object.metadata;
      collectFields(object, `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}:`, fields);
    }
  }
  collectFields(installed.dashboard, 'dashboard:', fields);
  collectFields(installed.instructions, 'Containerfile:', fields);
  for (const object of installed.fleet)
    collectFields(object, `fleet ${object.kind} ${object.metadata?.name ?? ''}:`, fields);
  for (const [name, workflow] of installed.workflows) collectFields(workflow, `workflow ${name}:`, fields);
  return [...fields].flatMap(([name, places]) => {
    const [{ collection, key, path }] = places as [Field];
    const value = getField(collection, key);
    const removal = { name: `${name}: removed`, apply: () => applyAll(places, removeField) };
    if (typeof value === 'object') return [removal];
    const changes = typeof value === 'string' && PROGRAM.test(path) ? changeProgram(value) : [changeScalar(value)];
    return [
      ...changes.map((changed) => {
        const change = (place: Field) => setField(place, changed);
        return { name: `${name}: ${format(changed)}`, apply: () => applyAll(places, change) };
      }),
      removal,
    ];
  });
}

/** Equal fields of the sets of several options come from the same line of manifests/. */
function collectFields(collection: object, path: string, fields: Map<string, Field[]>): void {
  for (const [key, value] of Object.entries(collection)) {
    if (value === undefined) continue;
    // A component gives the same labels to every object.
    const start = COMMON_LABEL.test(key) ? EVERY_OBJECT : path;
    const name = `${start} ${formatKey(collection, key, value)}`;
    const isCollection = typeof value === 'object' && value !== null;
    const identity = isCollection ? name : `${name} = ${format(value)}`;
    fields.set(identity, [...(fields.get(identity) ?? []), { path: name, collection: collection as Collection, key }]);
    if (isCollection) collectFields(value as object, name, fields);
  }
}

/** Each run creates other keys and certificates. */
function format(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 && BASE64.test(text) ? '(base64)' : text;
}

/** A name stays when others are added before it. */
function formatKey(collection: object, key: string, value: unknown): string {
  if (!Array.isArray(collection)) return key;
  if (typeof value !== 'object' || value === null) return '-';
  const names = NAMES.map((name) => (value as Readonly<Record<string, unknown>>)[name]);
  const name = names.find((each) => typeof each === 'string');
  return name === undefined ? `[${key}]` : `[${name}]`;
}

function changeScalar(value: unknown): unknown {
  if (typeof value === 'number') return 2 * value + 1;
  if (typeof value === 'boolean') return !value;
  const text = String(value);
  const [pattern, replacement] = REPLACEMENTS.find(([each]) => each.test(text)) ?? [/$/, 'x'];
  return text.replace(pattern, replacement as string);
}

function changeProgram(text: string): readonly string[] {
  const changes = PROGRAM_REPLACEMENTS.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map(({ index, 0: { length } }) => {
      return text.slice(0, index) + replacement + text.slice(index + length);
    }),
  );
  return changes.length === 0 ? [`${text}x`] : changes;
}

function applyAll(places: readonly Field[], change: (place: Field) => () => void): () => void {
  // The items of a list move when one is removed, and move back in the other order.
  const undoings = places.map(change).toReversed();
  return () => {
    for (const undo of undoings) undo();
  };
}

function getField(collection: Collection, key: string): unknown {
  return (collection as Record<string, unknown>)[key];
}

function setField({ collection, key }: Field, value: unknown): () => void {
  const record = collection as Record<string, unknown>;
  const before = record[key];
  record[key] = value;
  return () => {
    record[key] = before;
  };
}

function removeField({ collection, key }: Field): () => void {
  if (Array.isArray(collection)) {
    const index = Number(key);
    const removed = collection.splice(index, 1);
    return () => {
      collection.splice(index, 0, ...removed);
    };
  }
  const before = collection[key];
  delete collection[key];
  return () => {
    collection[key] = before;
  };
}
