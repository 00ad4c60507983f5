import leven from 'leven';

/** The hash at the end of a rendered config's name (machine-config-operator, pkg/controller/render/hash.go). */
const HASH = /[0-9a-f]{32}$/;
/** A truncated name needs this many characters of its hash. */
const MIN_HASH_CHARACTERS = 6;
/** With more than one edit in this many characters it is another name. */
const CHARACTERS_PER_EDIT = 8;
/** Swapping two neighboring characters costs two edits. */
const MIN_EDITS = 2;
/** With the same hash, only the name of the pool can differ, which has fewer characters than any name. */
const MAX_EDITS_OF_POOL = 253;
/** Two unrelated hashes are about 24 edits apart. */
const MAX_EDITS = 8;

/**
 * Finds the existing name that was probably meant: a name with the same hash, else the only completion, else the
 * smallest edit distance.
 *
 * @returns undefined if no name is near, or if several are equally near
 */
export function findNearestName<Name extends string>(missing: string, existing: Iterable<Name>): Name | undefined {
  // Kubernetes names are lower case. Pasted values can have spaces around them.
  const wanted = missing.trim().toLowerCase();
  const names = [...existing];
  const hash = HASH.exec(wanted)?.[0];
  const sameHash = names.filter((name) => hash !== undefined && name.endsWith(`-${hash}`));
  if (sameHash.length > 0) return findFewestEdits(wanted, sameHash, MAX_EDITS_OF_POOL);
  const completions = names.filter((name) => isTruncated(wanted, name));
  if (completions.length === 1) return completions[0];
  const maxEdits = Math.max(MIN_EDITS, Math.min(MAX_EDITS, Math.floor(wanted.length / CHARACTERS_PER_EDIT)));
  return findFewestEdits(wanted, names, maxEdits);
}

function isTruncated(wanted: string, name: string): boolean {
  const hashStart = name.startsWith(wanted) ? HASH.exec(name)?.index : undefined;
  return hashStart !== undefined && wanted.length >= hashStart + MIN_HASH_CHARACTERS;
}

function findFewestEdits<Name extends string>(
  wanted: string,
  names: readonly Name[],
  maxEdits: number,
): Name | undefined {
  // Above its limit the library returns the limit.
  const edits = names.map((name) => leven(wanted, name, { maxDistance: maxEdits + 1 }));
  const fewest = edits.reduce((least, count) => Math.min(least, count), Number.POSITIVE_INFINITY);
  const position = edits.indexOf(fewest);
  return fewest <= maxEdits && position === edits.lastIndexOf(fewest) ? names[position] : undefined;
}
