import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { type ReferenceGroup, summarizeReferences } from '../../src/decision/references.ts';
import {
  parseBuildReferrer,
  parseNodeReferrer,
  parsePoolReferrer,
} from '../../src/references/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';

const byName = { selector: ({ metadata }: { metadata?: { name?: unknown } | null }) => metadata?.name };
const referrers = fc
  .record({
    nodes: fc.uniqueArray(node, byName),
    pools: fc.uniqueArray(pool, byName),
    builds: fc.uniqueArray(build, byName),
  })
  .map(({ nodes, pools, builds }) => [
    ...nodes.map(parseNodeReferrer),
    ...pools.map(parsePoolReferrer),
    ...builds.map(parseBuildReferrer),
  ]);

test('counts all references, and returns those of the first referrers of each kind', () => {
  fc.assert(
    fc.property(
      referrers,
      fc.constantFrom(...NAMES),
      fc.integer({ min: 0, max: 4 }),
      (all, name, maxReferrers) => {
        const whole = summarizeReferences(toConfigName(name), all);
        const few = summarizeReferences(toConfigName(name), all, maxReferrers);
        for (const strength of ['strong', 'weak'] as const) {
          expect(whole[strength].total).toBe(whole[strength].references.length);
          expect(few[strength]).toEqual({
            total: whole[strength].total,
            referrersByKind: countReferrers(whole[strength]),
            references: takeFirst(whole[strength], maxReferrers),
          });
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

function countReferrers({ references }: ReferenceGroup): ReferenceGroup['referrersByKind'] {
  const counts = { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 };
  const referrers = new Map(references.map(({ kind, name }) => [`${kind} ${name}`, kind]));
  for (const kind of referrers.values()) counts[kind] += 1;
  return counts;
}

function takeFirst({ references }: ReferenceGroup, maxReferrers: number): ReferenceGroup['references'] {
  const seen: Record<string, Set<string>> = {};
  return references.filter(({ kind, name }) => {
    const names = (seen[kind] ??= new Set());
    names.add(name);
    return names.size <= maxReferrers;
  });
}
