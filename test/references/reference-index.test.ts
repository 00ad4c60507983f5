import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPool, type Referrer } from '../../src/mco/referrer.ts';
import { ReferrersByConfig } from '../../src/references/reference-index.ts';
import { isManagedByOperator } from '../../src/mco/pool-of-node.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

test('after any changes, finds the referrers of a config, all pools and unreported nodes', () => {
  const referrer = fc.oneof(node.map(parseNodeReferrer), pool.map(parsePoolReferrer), build.map(parseBuildReferrer));
  const changes = fc.array(fc.record({ referrer, gone: fc.boolean() }), { maxLength: 40 });
  checkProperty(
    fc.property(changes, (several) => {
      const known = new Map<string, Referrer>();
      const byConfig = new ReferrersByConfig();
      for (const { referrer, gone } of several) {
        const key = referrer.kind + referrer.name;
        byConfig.update(known.get(key), gone ? undefined : referrer);
        if (gone) known.delete(key);
        else known.set(key, referrer);
      }
      for (const config of NAMES.map(toConfigName)) {
        const pools = [...known.values()].filter(isPool);
        const isNeeded = (referrer: Referrer): boolean =>
          referrer.references.some((use) => use.config === config) ||
          isPool(referrer) ||
          (referrer.kind === 'Node' && referrer.references[0]?.field !== 'currentConfig');
        const walked = [...known.values()].filter((one) => isNeeded(one) && isManagedByOperator(one, pools));
        const found = byConfig.find(config);
        expect(new Set(found)).toEqual(new Set(walked));
        expect(found).toHaveLength(walked.length);
      }
    }),
    800,
  );
});

test('keeps the position of a referrer that changes', () => {
  const config = toConfigName(NAMES[0]);
  const worker = (name: string): Referrer => {
    const references = [{ field: 'currentConfig', config, strength: 'strong' } as const];
    return { kind: 'Node', name, references, state: { type: 'configured' } };
  };
  const byConfig = new ReferrersByConfig();
  const [a, b] = [worker('a'), worker('b')];
  for (const one of [a, b]) byConfig.update(undefined, one);
  byConfig.update(a, { ...a });
  expect(byConfig.find(config)).toEqual([a, b]);
});
