import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReferrersByConfig } from '../../src/cluster/referrers-by-config.ts';
import { configName } from '../../src/policy/config-name.ts';
import { buildReferrer, nodeReferrer, poolReferrer, type Referrer } from '../../src/policy/referrer.ts';
import { build, NAMES, node, pool } from '../policy/arbitrary.ts';

const referrer = fc.oneof(node.map(nodeReferrer), pool.map(poolReferrer), build.map(buildReferrer));
const change = fc.record({ referrer, gone: fc.boolean() });

test('after any changes: for each config what names it, and what is being deleted, as a walk over all would find them', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const known = new Map<string, Referrer>();
      const byConfig = new ReferrersByConfig();
      for (const { referrer: now, gone } of changes) {
        const key = `${now.kind} ${now.name}`;
        byConfig.change(known.get(key), gone ? undefined : now);
        known.delete(key);
        if (!gone) known.set(key, now);
      }
      for (const config of NAMES.map(configName)) {
        const walked = [...known.values()].filter(
          ({ uses, terminating }) => terminating === true || uses.some((use) => use.config === config),
        );
        const found = [...byConfig.concerning(config)];
        expect(new Set(found)).toEqual(new Set(walked));
        expect(found).toHaveLength(walked.length);
      }
    }),
    { numRuns: 1_000 },
  );
});
