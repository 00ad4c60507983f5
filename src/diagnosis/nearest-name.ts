import { groupBy } from '../common/group-by.ts';
import { RENDERED_PREFIX } from '../mco/machine-config.ts';

/** At the end of a rendered config's name (machine-config-operator, pkg/controller/render/hash.go). */
const HASH = /(?<=-)[0-9a-f]{32}$/;
const PREFIX = /^render[a-z]*-/;
/** This number of digits at one end of a hash distinguishes it from others. */
const DIGITS = 8;

/**
 * Finds the existing config that was probably meant: the only one whose hash has the same digits at its beginning or
 * end, preferably with the same pool. It is an index, because thousands of nodes can each name another missing config.
 */
export function createNearestFinder<Name extends string>(existing: Iterable<Name>) {
  const ends = [...existing].flatMap((name) => listEnds(HASH.exec(name)?.[0] ?? '').map((end) => ({ end, name })));
  const byEnd = groupBy(ends, ({ end }) => end);
  return (missing: string): Name | undefined => {
    // Kubernetes names are lower case. Pasted values can have spaces around them.
    const wanted = missing.trim().toLowerCase();
    const start = wanted.slice(0, wanted.lastIndexOf('-') + 1);
    const found = listEnds(wanted.slice(start.length)).flatMap((end) => byEnd.get(end) ?? []);
    const near = found.map(({ name }) => name);
    const ofPool = near.filter((name) => name.startsWith(start.replace(PREFIX, RENDERED_PREFIX)));
    const [only, ...others] = new Set(ofPool.length > 0 ? ofPool : near);
    return others.length === 0 ? only : undefined;
  };
}

function listEnds(hash: string): string[] {
  return hash.length < DIGITS ? [] : [`^${hash.slice(0, DIGITS)}`, `${hash.slice(-DIGITS)}$`];
}
