import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReferrersByConfig } from '../../src/cluster/referrers-by-config.ts';
import { configName } from '../../src/policy/config-name.ts';
import { buildReferrer, nodeReferrer, poolReferrer, type Referrer } from '../../src/policy/referrer.ts';
import { build, NAMES, node, pool } from '../policy/arbitrary.ts';

/** One a kind, as in the index. */
const change = <T>(referrer: fc.Arbitrary<T>) =>
  fc.array(fc.record({ referrer, gone: fc.boolean() }), { maxLength: 40 });

test.each([
  ['nodes', change(node.map(nodeReferrer))],
  ['pools', change(pool.map(poolReferrer))],
  ['builds', change(build.map(buildReferrer))],
])(
  'after any changes of %s: for each config what names it, and what is being deleted, as a walk over all would find them',
  (_kind, changes) => {
    fc.assert(
      fc.property(changes, (several) => {
        const known = new Map<string, Referrer>();
        const byConfig = new ReferrersByConfig();
        for (const { referrer, gone } of several) {
          byConfig.change(known.get(referrer.name), gone ? undefined : referrer);
          if (gone) known.delete(referrer.name);
          else known.set(referrer.name, referrer);
        }
        for (const config of NAMES.map(configName)) {
          const walked = [...known.values()].filter(
            ({ uses, terminating }) => terminating === true || uses.some((use) => use.config === config),
          );
          const found = byConfig.concerning(config);
          expect(new Set(found)).toEqual(new Set(walked));
          expect(found).toHaveLength(walked.length);
        }
      }),
      { numRuns: 1_000 },
    );
  },
);

test('one that changes keeps its place', () => {
  const config = configName(NAMES[0]);
  const worker = (name: string, field: string): Referrer => ({
    kind: 'Node',
    name,
    uses: [{ field, config, strength: 'hard' }],
  });
  const byConfig = new ReferrersByConfig();
  const [a, b] = [worker('a', 'currentConfig'), worker('b', 'currentConfig')];
  for (const one of [a, b]) byConfig.change(undefined, one);
  const changed = worker('a', 'desiredConfig');
  byConfig.change(a, changed);
  expect(byConfig.concerning(config)).toEqual([changed, b]);
});
