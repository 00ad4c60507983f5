import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { isManagedByOperator } from '../../src/mco/pool-of-node.ts';
import { isPool, isUnreportedNode, type Referrer } from '../../src/mco/referrer.ts';
import { summarizeReferences } from '../../src/references/config-referrers.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';
import { indexOf } from '../support/reference-index.ts';

test('after any changes, counts the references to each config, and has all pools and unreported nodes', () => {
  const referrer = fc.oneof(node.map(parseNodeReferrer), pool.map(parsePoolReferrer), build.map(parseBuildReferrer));
  const changes = fc.array(fc.record({ referrer, gone: fc.boolean() }), { maxLength: 40 });
  checkProperty(
    fc.property(changes, (several) => {
      const known = new Map<string, Referrer>();
      const index = indexOf([]);
      for (const { referrer, gone } of several) {
        const key = referrer.kind + referrer.name;
        const before = known.get(key);
        if (gone) known.delete(key);
        else known.set(key, referrer);
        index.update(before, known.get(key), 'watch');
      }
      const all = [...known.values()];
      for (const config of NAMES.map(toConfigName)) {
        const summary = index.byConfig.get(config)?.summarize(undefined, 100) ?? summarizeReferences(config, []);
        for (const strength of ['strong', 'weak'] as const) {
          const named = all.flatMap(({ kind, name, references }) =>
            references
              .filter((reference) => reference.config === config && reference.strength === strength)
              .map((reference) => ({ kind, name, ...reference })),
          );
          expect(new Set(summary[strength].references)).toEqual(new Set(named));
          expect(summary[strength].total).toBe(named.length);
          const referrers = new Set(named.map(({ kind, name }) => `${kind} ${name}`)).size;
          expect(Object.values(summary[strength].referrersByKind).reduce((a, b) => a + b)).toBe(referrers);
        }
        expect(index.isUsed(config)).toBe(summary.strong.total > 0);
      }
      const pools = all.filter(isPool);
      expect(new Set(index.listPools())).toEqual(new Set(pools));
      const unreported = all.filter((each) => isUnreportedNode(each) && isManagedByOperator(each, pools));
      expect(new Set(index.listUnreportedNodes())).toEqual(new Set(unreported));
    }),
    800,
  );
});
