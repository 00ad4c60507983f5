import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { findNearestName } from '../../src/decision/nearest-name.ts';

const HASH = '25a1be6c1264c64551ae911d23717173';
const WORKER = toConfigName(`rendered-worker-${HASH}`);
const MASTER = toConfigName('rendered-master-9e786f4a442cb50f3dfeec92abb1675f');
const EXISTING = [MASTER, WORKER, toConfigName('99-worker-ssh'), toConfigName('00-worker')];

test.each([
  ['the prefix without its last letters', `render-worker-${HASH}`],
  ['another pool', `rendered-infra-${HASH}`],
  ['no prefix', `worker-${HASH}`],
  ['a letter of the hash wrong', WORKER.replace('be6c', 'be6d')],
  ['two letters swapped', WORKER.replace('be6c', 'b6ec')],
  ['a letter missing', WORKER.replace('be6c', 'be6')],
  ['a letter too many', WORKER.replace('be6c', 'be66c')],
  ['capitals', WORKER.toUpperCase()],
  ['a line end from pasting', `${WORKER}\n`],
  ['cut off after some of the hash', 'rendered-worker-25a1be6c'],
  ['cut off, with a line end from pasting', ' rendered-worker-25a1be6c\n'],
])('%s', (_what, missing) => {
  expect(findNearestName(missing, EXISTING)).toBe(WORKER);
});

test('two letters swapped in a short name', () => {
  expect(findNearestName('99-wroker-ssh', EXISTING)).toBe('99-worker-ssh');
});

test.each([
  ['another hash of the same pool', 'rendered-master-553d5d527988f8cd22e7791f6013fe42'],
  ['only the pool', 'rendered-worker-'],
  ['too few letters of the hash', 'rendered-worker-25a1'],
  ['nothing at all', ''],
  ['a source config of another pool', '99-master-ssh'],
  ['short names that share little', '01-infra'],
])('no suggestion for %s', (_what, missing) => {
  expect(findNearestName(missing, EXISTING)).toBeUndefined();
});

test('a name that was cut off where two begin like it means neither', () => {
  const twins = ['0', '1'].map((last) => toConfigName(`rendered-worker-${HASH.slice(0, 31)}${last}`));
  expect(findNearestName('rendered-worker-25a1be6c', twins)).toBeUndefined();
});

test('of two with the same hash the one with the nearer prefix', () => {
  const twins = ['infra', 'worker'].map((pool) => toConfigName(`rendered-${pool}-${HASH}`));
  expect(findNearestName(`rendered-wroker-${HASH}`, twins)).toBe(WORKER);
});

test('of two that are equally near the first of the alphabet, in whatever order they come', () => {
  const near = ['a', 'b', 'c'].map((first) => toConfigName(`rendered-worker-${first}${HASH.slice(1)}`));
  const [a, , c] = near;
  expect(findNearestName(WORKER, near)).toBe(a);
  expect(findNearestName(WORKER, near.toReversed())).toBe(a);
  expect(findNearestName(WORKER.replace('25a1', 'c5a1'), near)).toBe(c);
});

test('what is no name at all is none', () => {
  expect(findNearestName('r'.repeat(256 * 1024), [WORKER])).toBeUndefined();
  expect(findNearestName(WORKER, [])).toBeUndefined();
});

const hash = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: 32, maxLength: 32 });
const name = fc
  .tuple(fc.constantFrom('worker', 'master', 'infra-a.b'), hash)
  .map(([pool, digits]) => toConfigName(`rendered-${pool}-${digits}`));
/** One slip of the hand at some place of a name. */
const slip = fc.record({
  at: fc.nat(),
  letter: fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyz-'.split('')),
  how: fc.constantFrom('replace', 'insert', 'remove', 'swap'),
});

function slipped(text: string, { at, letter, how }: { at: number; letter: string; how: string }): string {
  const index = at % text.length;
  const [left, right] = [text.slice(0, index), text.slice(index + 1)];
  if (how === 'replace') return left + letter + right;
  if (how === 'insert') return left + letter + text[index] + right;
  if (how === 'remove') return left + right;
  return left + right.slice(0, 1) + text[index] + right.slice(1);
}

test('up to three slips lead back to the config, among any others and in any order', () => {
  fc.assert(
    fc.property(
      name,
      fc.array(name, { maxLength: 20 }),
      fc.array(slip, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (meant, others, slips, last) => {
        const typed = slips.reduce(slipped, String(meant));
        expect(findNearestName(typed, last ? [...others, meant] : [meant, ...others])).toBe(meant);
      },
    ),
  );
});

test('whatever is asked, the answer exists and does not depend on the order', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), name), fc.array(name, { maxLength: 10 }), (asked, names) => {
      const answer = findNearestName(asked, names);
      expect(answer === undefined || names.includes(answer)).toBe(true);
      expect(findNearestName(asked, names.toReversed())).toBe(answer);
    }),
  );
});
