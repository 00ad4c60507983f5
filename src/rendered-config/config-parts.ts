import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { toPrintableLine } from '../common/printable-text.ts';
import { isRecord } from './rendered-config.ts';

interface ConfigPart {
  /** In the words of Ignition, such as `file`. */
  readonly kind: string;
  readonly name: string;
  readonly value: unknown;
}

/** A part that differs between two specs, with values or digests, because contents can be secret. */
interface PartDifference extends Pick<ConfigPart, 'kind' | 'name'> {
  /** Null if the side does not have the part. */
  readonly first: string | null;
  readonly second: string | null;
}

export interface ExplainedDifference extends PartDifference {
  /** The sources that set the part, each once. */
  readonly setBy: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** Lists of Ignition, each with its noun. Other lists have the name of their field. */
const NOUNS: Readonly<Record<string, string>> = {
  'storage.files': 'file',
  'storage.directories': 'directory',
  'storage.links': 'link',
  'systemd.units': 'unit',
  'passwd.users': 'user',
  'passwd.groups': 'group',
  kernelArguments: 'kernel argument',
  extensions: 'extension',
};
/** Identify an item of a list of Ignition. */
const IDENTITIES = ['path', 'name', 'device'];
const SETTING = 'setting';
const DIGEST_LENGTH = 12;

export function listParts(spec: Json): ConfigPart[] {
  return Object.entries(spec).flatMap(([field, value]) =>
    field === 'config' && isRecord(value) ? listIgnitionParts(value) : listFieldParts(field, value),
  );
}

/**
 * Finds the parts that differ between two specs, in the order of their kinds and names. If no part differs, but their
 * order or empty values, the fields that contain them are the parts.
 */
export function diffSpecs(first: Json, second: Json): PartDifference[] {
  const specs = [first, second];
  const sides = specs.map((spec) => indexParts(listParts(spec)));
  const different = [...new Set(sides.flatMap((side) => [...side.keys()]))]
    .map((key) => sides.map((side) => side.get(key)))
    .filter(([one, other]) => !isDeepStrictEqual(one?.value, other?.value));
  for (const name of different.length > 0 ? [] : Object.keys({ ...first, ...second })) {
    const toPart = (spec: Json) => (Object.hasOwn(spec, name) ? { kind: SETTING, name, value: spec[name] } : undefined);
    if (!isDeepStrictEqual(first[name], second[name])) different.push(specs.map(toPart));
  }
  const differences = different.map(([one, other]) => {
    const { kind = '', name = '' } = one ?? other ?? {};
    return { kind, name, first: one ? summarizePart(one) : null, second: other ? summarizePart(other) : null };
  });
  return differences.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
}

/** @param sources the specs from which the two were rendered, with a name for each */
export function explainDifferences(
  differences: readonly PartDifference[],
  sources: readonly (readonly [name: string, spec: Json])[],
): ExplainedDifference[] {
  const parts = differences.length === 0 ? [] : sources.map(([source, spec]) => ({ source, own: listParts(spec) }));
  return differences.map((difference) => {
    const setBy = parts.filter(({ own }) => own.some((part) => toKey(part) === toKey(difference)));
    return { ...difference, setBy: [...new Set(setBy.map(({ source }) => source))] };
  });
}

/** The value of a setting, `set` for a text that is its own name, or the first digits of a SHA-256. */
function summarizePart({ kind, name, value }: ConfigPart): string {
  if (value === name) return 'set';
  if (kind === SETTING && !isRecord(value) && !Array.isArray(value)) return toPrintableLine(String(value));
  return digest(value);
}

function listIgnitionParts(config: Json): ConfigPart[] {
  return Object.entries(config).flatMap(([section, value]) => {
    if (!isRecord(value)) return listFieldParts(section, value, 'config.');
    return Object.entries(value).flatMap(([name, item]) => listFieldParts(`${section}.${name}`, item, 'config.'));
  });
}

function listFieldParts(path: string, value: unknown, prefix = ''): ConfigPart[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => listItemParts(NOUNS[path] ?? path, item));
  return isEmpty(value) ? [] : [{ kind: SETTING, name: prefix + path, value }];
}

/** A drop-in of a unit is a part of its own. A unit without other attributes only carries its drop-ins. */
function listItemParts(kind: string, item: unknown): ConfigPart[] {
  const name = formatName(item);
  if (kind !== 'unit' || !isRecord(item)) return [{ kind, name, value: item }];
  const { dropins, ...unit } = item;
  const parts = (Array.isArray(dropins) ? dropins : []).map((dropin: unknown) => {
    return { kind: 'drop-in', name: `${name}.d/${formatName(dropin)}`, value: dropin };
  });
  return Object.keys(unit).length > 1 ? [{ kind, name, value: unit }, ...parts] : parts;
}

/** Without the value of a kernel argument, which can be a password, such as in `rd.iscsi.password=…`. */
function formatName(item: unknown): string {
  if (!isRecord(item)) return typeof item === 'string' ? item.replace(/=.*/s, '') : canonicalize(item);
  const identity = IDENTITIES.map((key) => item[key]).find((value) => typeof value === 'string');
  return typeof identity === 'string' ? identity : digest(item);
}

function digest(value: unknown): string {
  return `sha256:${createHash('sha256').update(canonicalize(value)).digest('hex').slice(0, DIGEST_LENGTH)}`;
}

/** A list can contain an item twice, and several kernel arguments of one name. */
function indexParts(parts: readonly ConfigPart[]): Map<string, ConfigPart> {
  const index = new Map<string, ConfigPart>();
  for (const part of parts) {
    let key = toKey(part) + (part.kind === SETTING || isRecord(part.value) ? '' : canonicalize(part.value));
    while (index.has(key)) key += ' ';
    index.set(key, part);
  }
  return index;
}

function toKey({ kind, name }: Pick<ConfigPart, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || value === false;
}

/** JSON with sorted keys, as Go and the API server write it. Empty for undefined. */
export function canonicalize(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) => {
      if (!isRecord(item)) return item;
      return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? ''
  );
}
