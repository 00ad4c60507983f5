import { OWN_GROUP, UNLISTED_GROUPS } from './kinds.ts';
import type { KindCatalog } from './schemas.ts';

interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** `group Kind`. */
  readonly type: string;
}

/** Of two names, one is probably a misspelled copy of the other. */
const MAX_EDITS = 2;

/**
 * Finds the kind, as `apiVersion Kind`, that was probably meant by one that no cluster has: one of the same name in
 * another version or group, or one of the same group with almost the same name.
 */
export function findNearestKind({ apiVersion, kind, type }: NamedKind, catalog: KindCatalog): string | undefined {
  const [group = ''] = type.split(' ', 1);
  // Other groups have kinds of the same names.
  if (!OWN_GROUP.test(group)) return undefined;
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of catalog.names) {
    const [otherVersion = '', other = ''] = name.split(' ');
    const isSameGroup = getGroup(otherVersion) === group;
    if (otherVersion.startsWith('internal/') || (!isSameGroup && UNLISTED_GROUPS.test(group))) continue;
    const isSameKind = other.toLowerCase() === kind.toLowerCase();
    const edits = isSameKind ? 0 : isSameGroup ? countEdits(other, kind, MAX_EDITS) : Number.POSITIVE_INFINITY;
    // The same group is nearer than another one.
    const distance = edits + (isSameGroup ? 0 : 0.5) + (otherVersion === apiVersion ? 0 : 0.1);
    if (distance >= fewest) continue;
    nearest = name;
    fewest = distance;
  }
  return fewest <= MAX_EDITS + 0.1 ? nearest : undefined;
}

function getGroup(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/', 1)[0] ?? '') : '';
}

/** How many characters must be added, removed or replaced. Infinite above the maximum. */
function countEdits(one: string, other: string, max: number): number {
  if (Math.abs(one.length - other.length) > max) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, character] of Array.from(one).entries()) {
    const next = [index + 1];
    for (const [at, wanted] of Array.from(other).entries()) {
      const replaced = (row[at] ?? 0) + (character === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  const edits = row.at(-1) ?? 0;
  return edits <= max ? edits : Number.POSITIVE_INFINITY;
}
