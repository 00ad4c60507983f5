import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/references.ts';
import { createNearestFinder } from '../../src/diagnosis/nearest-name.ts';

const HASH = '25a1be6c1264c64551ae911d23717173';
const [WORKER, MASTER, INFRA] = ['worker', 'master', 'infra'].map((pool) => toConfigName(`rendered-${pool}-${HASH}`));
const OTHER = toConfigName('rendered-worker-9e786f4a442cb50f3dfeec92abb1675f');
const TWIN = toConfigName(`rendered-worker-${HASH.slice(0, 31)}0`);

test.each([
  ['a shorter prefix', `render-worker-${HASH}`, [MASTER, WORKER], WORKER],
  ['another pool', `rendered-infra-${HASH}`, [WORKER], WORKER],
  ['no prefix', `worker-${HASH}`, [WORKER], WORKER],
  ['capitals', `RENDERED-WORKER-${HASH.toUpperCase()}`, [WORKER], WORKER],
  ['only a part of the hash, and white space', ' rendered-worker-25a1be6c\n', [WORKER], WORKER],
  ['a wrong digit at the start', `rendered-worker-0${HASH.slice(1)}`, [WORKER], WORKER],
  ['a missing digit at the end', `rendered-worker-${HASH.slice(0, 31)}`, [WORKER], WORKER],
  ['a hash of two pools', `rendered-worker-0${HASH.slice(1)}`, [MASTER, WORKER], WORKER],
  ['a hash of two other pools', `rendered-worker-${HASH}`, [MASTER, INFRA], undefined],
  ['the beginning of two names', 'rendered-worker-25a1be6c', [WORKER, TWIN], undefined],
  ['another hash', `rendered-worker-${HASH}`, [OTHER], undefined],
  ['too few digits of the hash', 'rendered-worker-25a1be6', [WORKER], undefined],
  ['no hash', '99-master-ssh', [toConfigName('99-worker-ssh')], undefined],
  ['very many characters', '-'.repeat(256 * 1024), [WORKER], undefined],
])('for a name that has %s, finds the config that was meant, if it is clear', (_title, missing, existing, expected) => {
  const names = existing.flatMap((name) => name ?? []);
  expect(createNearestFinder([...names, OTHER])(missing)).toBe(expected);
});
