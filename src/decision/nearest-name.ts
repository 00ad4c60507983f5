import type { ConfigName } from './config-name.ts';

/** The hash at the end of a rendered config's name (machine-config-operator, pkg/controller/render/hash.go). */
const HASH = /[0-9a-f]{32}$/;
/** With more than one edit in this many characters it is another name. */
const CHARACTERS_PER_EDIT = 8;
/** Swapping two neighboring characters costs two edits. */
const MIN_EDITS = 2;
/** Two unrelated hashes are about 24 edits apart. */
const MAX_EDITS = 8;
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
  const names = [...existing];
  return findSameHash(wanted, names) ?? findOnlyCompletion(wanted, names) ?? findFewestEdits(wanted, names);
}

function findSameHash(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const hash = HASH.exec(wanted)?.[0];
  if (hash === undefined) return undefined;
  const sameHash = names.filter((name) => name.endsWith(`-${hash}`));
  return sameHash.length > 1
    ? findMinimum(sameHash, (name) => countEdits(wanted, name, Number.POSITIVE_INFINITY))
    : sameHash[0];
}

function findOnlyCompletion(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const completions = names.filter((name) => {
    const hashStart = HASH.exec(name)?.index;
    return (
      hashStart !== undefined && wanted.length >= hashStart + MIN_HASH_CHARACTERS && name.startsWith(wanted)
    );
  });
  return completions.length === 1 ? completions[0] : undefined;
}

function findFewestEdits(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const max = Math.min(MAX_EDITS, Math.max(MIN_EDITS, Math.floor(wanted.length / CHARACTERS_PER_EDIT)));
  const near = names.filter((name) => countEdits(wanted, name, max) <= max);
  return findMinimum(near, (name) => countEdits(wanted, name, max));
}

/** The name with the smallest value, or undefined if several have it. */
function findMinimum(names: readonly ConfigName[], getValue: (name: ConfigName) => number) {
  const values = names.map(getValue);
  const minimum = Math.min(...values);
  const position = values.indexOf(minimum);
  return position === values.lastIndexOf(minimum) ? names[position] : undefined;
}

/**
 * The Levenshtein distance, or infinity once it must exceed `max`, because an annotation can have 256 KiB.
 */
function countEdits(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return Number.POSITIVE_INFINITY;
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
