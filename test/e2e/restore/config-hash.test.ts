import { execFileSync } from 'node:child_process';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { formatGoYaml, UnverifiableContent } from '../../../src/rendered-config/go-yaml.ts';
import { SPECIAL_TEXTS } from '../../support/yaml-texts.ts';
import { buildGoProgram } from '../support/programs.ts';
import { IS_LONG } from '../support/runner.ts';

const SPECS = IS_LONG ? 4_000 : 1_000;
/** Fixed, so that a failure repeats. */
const SEED = 20_261_123;

/** How many generated specs `formatGoYaml` must format, instead of saying that no hash verifies them. */
const MIN_FORMATTED = SPECS / 4;
const NUMBERS = [0, -0, 1, -1, 420, 999_999, 1_000_000, 2 ** 31, 2 ** 53 - 1, 1 - 2 ** 53];

const character = fc.constantFrom(...Array.from('abYn01.:-# \n\t\'"~/ääé日\r\u00A0😀\u2028'));
const words = fc.array(fc.constantFrom('a', 'word', "it's", '#', '😀', '', 'key:'), { maxLength: 60 });
const lines = fc.array(fc.constantFrom(...SPECIAL_TEXTS), { maxLength: 5 });
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...SPECIAL_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 12 }) },
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  words.map((parts) => parts.join(' ')),
  lines.map((parts) => parts.join('\n')),
);
const number = fc.oneof(fc.constantFrom(...NUMBERS), fc.maxSafeInteger());
const key = fc.stringMatching(/^[a-zA-Z]{1,8}[0-9]?$/);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
}));
const spec = fc.dictionary(key, value, { minKeys: 1, maxKeys: 6 });

const program = await buildGoProgram(path.join(import.meta.dirname, 'go-yaml'));

function tryFormat(item: object): string | undefined {
  try {
    return formatGoYaml(item);
  } catch (error) {
    if (error instanceof UnverifiableContent) return undefined;
    throw error;
  }
}

/** Expects the YAML of Go for each spec that `formatGoYaml` accepts. Returns their number. */
function expectSameYaml(specs: readonly object[]): number {
  const input = specs.map((item) => `${JSON.stringify(item)}\n`).join('');
  const output = execFileSync(program, { input, encoding: 'utf8', maxBuffer: 512 * 1024 * 1024 }).trimEnd();
  // Null if Go cannot format a spec.
  const expected = output.split('\n').map((line) => JSON.parse(line) as string | null);
  expect(expected).toHaveLength(specs.length);
  const formatted = specs.map(tryFormat);
  const differing = formatted.findIndex((yaml, index) => yaml !== undefined && yaml !== expected[index]);
  expect([specs[differing], formatted[differing]]).toEqual([specs[differing], expected[differing]]);
  return formatted.filter((yaml) => yaml !== undefined).length;
}

test('formats each special text and number as Go does: as a value and as an item', () => {
  const specs = [...SPECIAL_TEXTS, ...NUMBERS].flatMap((item) => [
    { key: item },
    { key: [item, { key: item, other: item }, [item], [[item, item]], [{ key: [item] }]] },
    { key: { key: { key: item }, other: [item] }, Other: [], tpm2: {}, other: null },
  ]);
  expect(expectSameYaml(specs)).toBe(specs.length);
});

test('formats every code point as Go does, except for those that it rejects', () => {
  const codes = Array.from({ length: 0x11_00_00 }, (_, code) => code);
  const isSampled = (code: number) =>
    (code < 0xd8_00 || code >= 0xe0_00) && (code < 0x1_00_00 || code % 0x10_00 < 0x100);
  const characters = codes.filter(isSampled).map((code) => String.fromCodePoint(code));
  const specs = characters.map((item) => ({ key: [item, `a${item}b`, `${item} b`, `a\n${item}`] }));
  // The others are control characters, line breaks of YAML 1.1, U+FEFF, U+FFFE and U+FFFF.
  expect(specs.length - expectSameYaml(specs)).toBe(29 + 33 + 5);
});

test('formats generated specs as Go does, or rejects them', () => {
  expect(expectSameYaml(fc.sample(spec, { numRuns: SPECS, seed: SEED }))).toBeGreaterThan(MIN_FORMATTED);
});
