import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { type ReferenceGroup, summarizeReferences } from '../../src/decision/references.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';
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

test('of however many objects they are told: all are counted, and those of the first objects of each kind are told', () => {
  fc.assert(
    fc.property(referrers, fc.constantFrom(...NAMES), fc.integer({ min: 0, max: 4 }), (all, name, toldOf) => {
      const whole = summarizeReferences(toConfigName(name), all);
      const few = summarizeReferences(toConfigName(name), all, toldOf);
      for (const strength of ['strong', 'weak'] as const) {
        expect(whole[strength].total).toBe(whole[strength].references.length);
        expect(few[strength]).toMatchObject({
          total: whole[strength].total,
          referrersByKind: objectsOf(whole[strength]),
        });
        expect(few[strength].references).toEqual(firstOf(whole[strength], toldOf));
      }
    }),
    { numRuns: 1_000 },
  );
});

function objectsOf({ references }: ReferenceGroup): ReferenceGroup['referrersByKind'] {
  const count = (wanted: string): number =>
    new Set(references.filter(({ kind }) => kind === wanted).map(({ name }) => name)).size;
  return {
    Node: count('Node'),
    MachineConfigPool: count('MachineConfigPool'),
    MachineOSBuild: count('MachineOSBuild'),
  };
}

function firstOf({ references }: ReferenceGroup, toldOf: number): ReferenceGroup['references'] {
  const seen: Record<string, Set<string>> = {};
  return references.filter(({ kind, name }) => {
    const names = (seen[kind] ??= new Set());
    names.add(name);
    return names.size <= toldOf;
  });
}
