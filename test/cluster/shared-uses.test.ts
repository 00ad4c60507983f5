import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SharedUses } from '../../src/cluster/shared-uses.ts';
import { configName } from '../../src/policy/config-name.ts';
import { buildReferrer, nodeReferrer, poolReferrer, type Referrer } from '../../src/policy/referrer.ts';
import { build, node, pool } from '../policy/arbitrary.ts';

test('nothing but the identity of what it names changes, whatever was shared before', () => {
  const shared = new SharedUses();
  fc.assert(
    fc.property(fc.oneof(node.map(nodeReferrer), pool.map(poolReferrer), build.map(buildReferrer)), (referrer) => {
      expect(shared.share(referrer)).toEqual(referrer);
    }),
    { numRuns: 2_000 },
  );
});

function worker(name: string, config: string): Referrer {
  const uses = [{ field: 'currentConfig', config: configName(config), strength: 'hard' }] as const;
  return { kind: 'Node', name, uses };
}

test('what two have in common is there once, also after thousands of others', () => {
  const shared = new SharedUses();
  for (let index = 0; index < 5_000; index += 1) shared.share(worker('old', `rendered-worker-${index}`));
  const [a, b] = [shared.share(worker('a', 'rendered-worker-x')), shared.share(worker('b', 'rendered-worker-x'))];
  expect([a.name, b.name]).toEqual(['a', 'b']);
  expect(b.uses).toBe(a.uses);
});
