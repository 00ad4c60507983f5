import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Referrer } from '../../src/decision/references.ts';
import { SharedUses } from '../../src/references/shared-uses.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';
import { build, node, pool } from '../policy/arbitrary.ts';

test('nothing but the identity of what it names changes, whatever was shared before', () => {
  const shared = new SharedUses();
  fc.assert(
    fc.property(
      fc.oneof(node.map(parseNodeReferrer), pool.map(parsePoolReferrer), build.map(parseBuildReferrer)),
      (referrer) => {
        expect(shared.share(referrer)).toEqual(referrer);
      },
    ),
    { numRuns: 2_000 },
  );
});

function worker(name: string, config: string): Referrer {
  const references = [{ field: 'currentConfig', config: toConfigName(config), strength: 'strong' }] as const;
  return { kind: 'Node', name, references };
}

test('what two have in common is there once, also after thousands of others', () => {
  const shared = new SharedUses();
  for (let index = 0; index < 5_000; index += 1) shared.share(worker('old', `rendered-worker-${index}`));
  const [a, b] = [shared.share(worker('a', 'rendered-worker-x')), shared.share(worker('b', 'rendered-worker-x'))];
  expect([a.name, b.name]).toEqual(['a', 'b']);
  expect(b.references).toBe(a.references);
});
