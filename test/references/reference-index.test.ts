import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { isManagedByOperator } from '../../src/mco/pool-of-node.ts';
import { isPool, isUnreportedNode, type Referrer } from '../../src/mco/referrer.ts';
import { NO_REFERENCES, summarizeReferences } from '../../src/references/config-referrers.ts';
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
        const summary = index.find(config)?.summarize(undefined, 100) ?? NO_REFERENCES;
        const { strong } = summarizeReferences(config, all);
        expect(new Set(summary.references)).toEqual(new Set(strong.references));
        expect(summary).toMatchObject({ referrersByKind: strong.referrersByKind, total: strong.total });
        expect(index.byConfig.has(config)).toBe(strong.total > 0);
      }
      const pools = all.filter(isPool);
      expect(new Set(index.listPools())).toEqual(new Set(pools));
      const unreported = all.filter((each) => isUnreportedNode(each) && isManagedByOperator(each, pools));
      expect(new Set(index.listUnreportedNodes())).toEqual(new Set(unreported));
    }),
    800,
  );
});
