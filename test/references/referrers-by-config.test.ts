import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPool, type Referrer, toConfigName } from '../../src/decision/references.ts';
import { isManagedByOperator } from '../../src/references/node-pool.ts';
import { ReferrersByConfig } from '../../src/references/referrers-by-config.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';

const change = <T>(referrer: fc.Arbitrary<T>) =>
  fc.array(fc.record({ referrer, gone: fc.boolean() }), { maxLength: 40 });

test.each([
  ['nodes', change(node.map(parseNodeReferrer))],
  ['pools', change(pool.map(parsePoolReferrer))],
  ['builds', change(build.map(parseBuildReferrer))],
  [
    'all kinds',
    change(fc.oneof(node.map(parseNodeReferrer), pool.map(parsePoolReferrer), build.map(parseBuildReferrer))),
  ],
])('after any changes of %s, finds the referrers of a config, all pools and unreported nodes', (_kind, changes) => {
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
    200,
  );
});

test('keeps the position of a referrer that changes', () => {
  const config = toConfigName(NAMES[0]);
  const worker = (name: string): Referrer => {
    return { kind: 'Node', name, references: [{ field: 'currentConfig', config, strength: 'strong' }] };
  };
  const byConfig = new ReferrersByConfig();
  const [a, b] = [worker('a'), worker('b')];
  for (const one of [a, b]) byConfig.update(undefined, one);
  byConfig.update(a, { ...a });
  expect(byConfig.find(config)).toEqual([a, b]);
});
