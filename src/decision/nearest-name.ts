import type { ConfigName } from './config-name.ts';

/** The hash at the end of a rendered config's name (machine-config-operator, pkg/controller/render/hash.go). */
const HASH = /[0-9a-f]{32}$/;
/** With more than one edit in this many characters it is another name. */
const CHARACTERS_PER_EDIT = 8;
/** Swapping two neighboring characters costs two edits. */
const MIN_EDITS = 2;
/** Two unrelated hashes are about 24 edits apart. */
const MAX_EDITS = 8;
/** Unrelated hashes almost never share this many characters. */
const PART_LENGTH = 4;
/** The limit of Kubernetes. An annotation that names a config can have 256 KiB. */
const MAX_NAME_LENGTH = 253;
/** A truncated name needs this many characters of its hash. */
const MIN_HASH_CHARACTERS = 6;

/**
 * Finds the existing name that was probably meant: a name with the same hash, else the only completion, else the
 * smallest edit distance.
 *
 * @returns undefined if no name is near, or if several are equally near
 */
export function findNearestName(missing: string, existing: Iterable<ConfigName>): ConfigName | undefined {
  // Kubernetes names are lower case. Pasted values can have spaces around them.
  const wanted = missing.trim().toLowerCase();
  if (wanted.length > MAX_NAME_LENGTH + MAX_EDITS) return undefined;
  const names = [...existing];
  return findSameHash(wanted, names) ?? findOnlyCompletion(wanted, names) ?? findFewestEdits(wanted, names);
}

function findSameHash(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const hash = HASH.exec(wanted)?.[0];
  if (hash === undefined) return undefined;
  const sameHash = names.filter((name) => name.endsWith(`-${hash}`));
  return sameHash.length > 1
    ? findMinimum(sameHash, (name) => countEdits(wanted, name, MAX_NAME_LENGTH))
    : sameHash[0];
}

function findOnlyCompletion(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const completions = names.filter((name) => {
    const hashStart = name.startsWith(wanted) ? HASH.exec(name)?.index : undefined;
    return hashStart !== undefined && wanted.length >= hashStart + MIN_HASH_CHARACTERS;
  });
  return completions.length === 1 ? completions[0] : undefined;
}

function findFewestEdits(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const max = Math.min(MAX_EDITS, Math.max(MIN_EDITS, Math.floor(wanted.length / CHARACTERS_PER_EDIT)));
  const parts = splitIntoParts(wanted);
  const near = names.filter((name) => sharesParts(name, parts, max) && countEdits(wanted, name, max) <= max);
  return findMinimum(near, (name) => countEdits(wanted, name, max));
}

/** Parts of {@link PART_LENGTH}, the last one first, because most names share the prefix of their pool. */
function splitIntoParts(text: string): readonly string[] {
  const count = Math.floor(text.length / PART_LENGTH);
  const parts = Array.from({ length: count }, (_, index) =>
    text.slice(index * PART_LENGTH, (index + 1) * PART_LENGTH),
  );
  return parts.toReversed();
}

/**
 * Whether all parts but `max` occur in the name. Each edit changes one part at most, so with fewer shared parts the
 * name is more than `max` edits away. This is much cheaper than counting edits, and there can be 10,000 names.
 */
function sharesParts(name: string, parts: readonly string[], max: number): boolean {
  let missing = 0;
  for (const part of parts) {
    if (!name.includes(part)) missing += 1;
    if (missing > max) return false;
  }
  return true;
}

/** The name with the smallest value, or undefined if several have it. */
function findMinimum(names: readonly ConfigName[], getValue: (name: ConfigName) => number) {
  const values = names.map(getValue);
  const minimum = Math.min(...values);
  const position = values.indexOf(minimum);
  return position === values.lastIndexOf(minimum) ? names[position] : undefined;
}

/**
 * The Levenshtein distance, or infinity once it must exceed `max`. A shared prefix does not change it.
 */
function countEdits(wanted: string, name: string, max: number): number {
  if (Math.abs(wanted.length - name.length) > max) return Number.POSITIVE_INFINITY;
  let shared = 0;
  while (shared < wanted.length && wanted[shared] === name[shared]) shared += 1;
  const [a, b] = [wanted.slice(shared), name.slice(shared)];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replacementDistance = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replacementDistance, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    // No later row contains a smaller value.
    if (current.every((distance) => distance > max)) return Number.POSITIVE_INFINITY;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
