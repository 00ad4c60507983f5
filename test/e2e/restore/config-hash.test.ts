import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatGoYaml, UnverifiableContent } from '../../../src/rendered-config/go-yaml.ts';
import { SPECIAL_TEXTS } from '../../support/yaml-texts.ts';
import { buildGoReaders } from '../manifests/go-readers.ts';
import { IS_LONG } from '../support/runner.ts';

const SPECS = IS_LONG ? 4_000 : 1_000;
const NUMBERS = [0, -0, 1, -1, 420, 999_999, 1_000_000, 2 ** 31, 2 ** 53 - 1, 1 - 2 ** 53];
const readWithGo = await buildGoReaders();

/** Expects the YAML of Go for each spec that `formatGoYaml` accepts. Returns the number of the others. */
async function countRejected(specs: readonly object[]) {
  const written = await readWithGo(specs.map((spec) => JSON.stringify(spec)));
  let rejected = 0;
  for (const [index, spec] of specs.entries()) {
    try {
      const yaml = formatGoYaml(spec);
      if (yaml !== written[index]?.yaml) expect({ spec, yaml }).toEqual({ spec, yaml: written[index]?.yaml });
    } catch (error) {
      if (!(error instanceof UnverifiableContent)) throw error;
      rejected += 1;
    }
  }
  return rejected;
}

test('formats each special text and number as Go does: as a value and as an item', async () => {
  const specs = [...SPECIAL_TEXTS, ...NUMBERS].flatMap((item) => [
    { key: item },
    { key: [item, { key: item, other: item }, [item], [[item, item]], [{ key: [item] }]] },
    { key: { key: { key: item }, other: [item] }, Other: [], tpm2: {}, other: null },
  ]);
  expect(await countRejected(specs)).toBe(0);
});

test('formats code points as Go does, except for those that it rejects', async () => {
  const codes = Array.from({ length: 0x11_00_00 }, (_, code) => code);
  // Between these, letters and the private use area are alike.
  const boundaries = /[\0-\u33FF\uD700-\uD7FF\uE000-\uE0FF\uF800-\uFFFF]/u;
  const isSampled = (code: number) => boundaries.test(String.fromCodePoint(code)) || code % 0x10_00 < 0x10;
  const characters = codes.filter(isSampled).map((code) => String.fromCodePoint(code));
  const specs = characters.map((item) => ({ key: [item, `a${item}b`, `${item} b`, `a\n${item}`] }));
  // The others are control characters, line breaks of YAML 1.1, U+FEFF, U+FFFE and U+FFFF.
  expect(await countRejected(specs)).toBe(29 + 33 + 5);
});

test('formats generated specs as Go does, or rejects them', async () => {
  const text = fc.oneof(
    fc.constantFrom(...SPECIAL_TEXTS),
    fc.string({ unit: fc.constantFrom(...Array.from('abYn01.:-# \n\t\'"~/ääé日\r\u00A0😀\u2028')), maxLength: 12 }),
    fc
      .array(fc.constantFrom('a', 'word', "it's", '#', '😀', '', 'key:'), { maxLength: 60 })
      .map((words) => words.join(' ')),
    fc.array(fc.constantFrom(...SPECIAL_TEXTS), { maxLength: 5 }).map((lines) => lines.join('\n')),
  );
  const scalar = fc.oneof(text, fc.constantFrom(...NUMBERS), fc.maxSafeInteger(), fc.boolean(), fc.constant(null));
  const key = fc.stringMatching(/^[a-zA-Z]{1,8}[0-9]?$/);
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(scalar, fc.array(tie('value'), { maxLength: 5 }), fc.dictionary(key, tie('value'), { maxKeys: 6 })),
  }));
  const specs = fc.sample(fc.dictionary(key, value, { minKeys: 1, maxKeys: 6 }), { numRuns: SPECS, seed: 20_261_123 });
  expect(await countRejected(specs)).toBeLessThan(SPECS / 2);
});
