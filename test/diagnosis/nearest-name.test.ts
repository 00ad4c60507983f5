import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/references.ts';
import { findNearestName } from '../../src/diagnosis/nearest-name.ts';
import { checkProperty } from '../support/check-property.ts';

const HASH = '25a1be6c1264c64551ae911d23717173';
const WORKER = toConfigName(`rendered-worker-${HASH}`);
const MASTER = toConfigName('rendered-master-9e786f4a442cb50f3dfeec92abb1675f');
const EXISTING = [MASTER, WORKER, toConfigName('99-worker-ssh'), toConfigName('00-worker')];

test.each([
  ['a shorter prefix', `render-worker-${HASH}`, WORKER],
  ['another pool', `rendered-infra-${HASH}`, WORKER],
  ['no prefix', `worker-${HASH}`, WORKER],
  ['capitals', WORKER.toUpperCase(), WORKER],
  ['only a part of the hash, and white space', ' rendered-worker-25a1be6c\n', WORKER],
  ['swapped letters', '99-wroker-ssh', '99-worker-ssh'],
  ['another hash of the same pool', 'rendered-master-553d5d527988f8cd22e7791f6013fe42', undefined],
  ['too few letters of the hash', 'rendered-worker-25a1', undefined],
  ['the role of another pool', '99-master-ssh', undefined],
  ['few letters, which differ much', '01-infra', undefined],
  ['very many letters', 'r'.repeat(256 * 1024), undefined],
])('for a name that has %s, finds the config that was meant, if it is clear', (_title, missing, expected) => {
  for (const names of [EXISTING, EXISTING.toReversed()]) expect(findNearestName(missing, names)).toBe(expected);
});

test('finds nothing if several names are equally near, or start with a part of the name', () => {
  const near = ['a', 'b', 'c'].map((first) => toConfigName(`rendered-worker-${first}${HASH.slice(1)}`));
  for (const names of [near, near.toReversed()]) expect(findNearestName(WORKER, names)).toBeUndefined();
  expect(findNearestName(WORKER.replace('25a1', 'c5a1'), near)).toBe(near[2]);
  const twins = ['0', '1'].map((last) => toConfigName(`rendered-worker-${HASH.slice(0, 31)}${last}`));
  expect(findNearestName('rendered-worker-25a1be6c', twins)).toBeUndefined();
});

const hash = fc.nat().map((number) => createHash('md5').update(String(number)).digest('hex'));
const name = fc
  .tuple(fc.constantFrom('worker', 'master', 'infra-a.b'), hash)
  .map(([pool, digits]) => toConfigName(`rendered-${pool}-${digits}`));
const typo = fc.record({
  at: fc.nat(),
  letter: fc.constantFrom('0', '9', 'a', 'f', 'z', '-'),
  kind: fc.constantFrom('replace', 'insert', 'remove', 'swap'),
});

function applyTypo(text: string, { at, letter, kind }: { at: number; letter: string; kind: string }) {
  const index = at % text.length;
  const [left, right] = [text.slice(0, index), text.slice(index + 1)];
  if (kind === 'replace') return left + letter + right;
  if (kind === 'insert') return left + letter + text[index] + right;
  if (kind === 'remove') return left + right;
  return left + right.slice(0, 1) + text[index] + right.slice(1);
}

test('finds a config despite three typing errors, among any others', () => {
  checkProperty(
    fc.property(
      name,
      fc.array(name, { maxLength: 20 }),
      fc.array(typo, { minLength: 1, maxLength: 3 }),
      (expected, others, typos) => {
        const typed = typos.reduce(applyTypo, String(expected));
        expect(findNearestName(typed, new Set([...others, expected]))).toBe(expected);
      },
    ),
    100,
  );
});

test('compares with any number of names', () => {
  const names = Array.from({ length: 200_000 }, (_value, index) => toConfigName(`x${index}`));
  expect(findNearestName('rendered-worker', names)).toBeUndefined();
});
