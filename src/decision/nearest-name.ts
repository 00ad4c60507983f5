import type { ConfigName } from './config-name.ts';

/** The part of a rendered config's name that no two configs share (machine-config-operator, pkg/controller/render/hash.go). */
const HASH = /[0-9a-f]{32}$/;
/** One slip of the hand in so many characters still makes a typo; more make another name. */
const CHARACTERS_PER_SLIP = 8;
/** Two neighbours that were swapped, in however short a name. */
const SLIPS_MIN = 2;
/** Two hashes that have nothing to do with each other are about 24 edits apart, so this is far from chance. */
const SLIPS_MAX = 8;
/** A name that was cut off needs so many characters of its hash to mean one config and not just a pool. */
const CUT_OFF_MIN = 6;

/**
 * Which existing config was probably meant by a name that does not exist: one with the same hash (a wrong or misspelt
 * prefix), the only one that begins like it (a name that was cut off), or the one that the fewest slips of the hand lead
 * to (a letter wrong, missing, extra, or two swapped), as long as they are few for its length.
 *
 * @returns undefined where nothing is near enough. Of several equally near ones the first in alphabetical order, so that
 * the answer does not change from one call to the next. It is a hint for a person, and never a reason to act.
 */
export function findNearestName(missing: string, existing: Iterable<ConfigName>): ConfigName | undefined {
  // Names in Kubernetes are lower case; line ends and blanks come with a value that was pasted.
  const wanted = missing.trim().toLowerCase();
  const names = [...existing].sort();
  return sameHash(wanted, names) ?? onlyContinuation(wanted, names) ?? fewestSlips(wanted, names);
}

function sameHash(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const hash = HASH.exec(wanted)?.[0];
  if (hash === undefined) return undefined;
  const twins = names.filter((name) => name.endsWith(`-${hash}`));
  // Two pools may have rendered the same content only by chance; then the nearer prefix decides.
  return twins.length > 1 ? leastBy(twins, (name) => slips(wanted, name, Number.POSITIVE_INFINITY)) : twins[0];
}

function onlyContinuation(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const begun = names.filter((name) => {
    const hashAt = HASH.exec(name)?.index;
    return hashAt !== undefined && wanted.length >= hashAt + CUT_OFF_MIN && name.startsWith(wanted);
  });
  return begun.length === 1 ? begun[0] : undefined;
}

function fewestSlips(wanted: string, names: readonly ConfigName[]): ConfigName | undefined {
  const most = Math.min(SLIPS_MAX, Math.max(SLIPS_MIN, Math.floor(wanted.length / CHARACTERS_PER_SLIP)));
  const near = names.filter((name) => slips(wanted, name, most) <= most);
  return leastBy(near, (name) => slips(wanted, name, most));
}

/** The first of those with the least value. */
function leastBy(names: readonly ConfigName[], value: (name: ConfigName) => number): ConfigName | undefined {
  let least: { name: ConfigName; value: number } | undefined;
  for (const name of names) {
    const own = value(name);
    if (least === undefined || own < least.value) least = { name, value: own };
  }
  return least?.name;
}

/**
 * The Levenshtein distance: how many characters have to be replaced, added or left out; two that are swapped count twice.
 * Infinite where it is certain early on that there are more than `most`: names are many, and an annotation may hold a quarter of a megabyte.
 */
function slips(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Number.POSITIVE_INFINITY;
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    // Whatever follows, it never gets less again.
    if (line.every((count) => count > most)) return Number.POSITIVE_INFINITY;
    above = line;
  }
  return above[b.length] ?? 0;
}
