import type { ManifestObject } from './manifest-set.ts';
import { getGroup, type KindCatalog } from './schemas.ts';

type NamedKind = Pick<ManifestObject, 'apiVersion' | 'group' | 'kind' | 'type'>;

/** Of two names, one is probably a misspelled copy of the other. */
const MAX_CHANGES = 2;

/**
 * Finds the kind, as `apiVersion Kind`, that was probably meant by one that no cluster has: one of the same name in
 * another version or group, or one of the same group with almost the same name.
 */
export function findNearestKind(
  { apiVersion, kind, group, type }: NamedKind,
  catalog: KindCatalog,
): string | undefined {
  // Others have kinds of the same names.
  if (!catalog.has('ownTypes', type)) return undefined;
  let nearest: string | undefined;
  let fewest = MAX_CHANGES + 0.2;
  for (const name of catalog.names) {
    const [otherVersion = '', other = ''] = name.split(' ');
    const isSameGroup = getGroup(otherVersion) === group;
    if (otherVersion.startsWith('internal/') || (!isSameGroup && catalog.has('unlistedTypes', type))) continue;
    const changes = countChanges(other.toLowerCase(), kind.toLowerCase());
    // Of another group, only a kind of the same name can be meant.
    if (!isSameGroup && changes > 0) continue;
    const distance = changes + (isSameGroup ? 0 : 0.5) + (otherVersion === apiVersion ? 0 : 0.1);
    if (distance >= fewest) continue;
    nearest = name;
    fewest = distance;
  }
  return nearest;
}

/** How many characters change in the one place in which two names differ. */
function countChanges(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start += 1;
  let end = 0;
  while (start + end < shorter && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return Math.max(one.length, other.length) - start - end;
}
