import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { formatGoYaml } from '../../../src/rendered-config/go-yaml.ts';
import { SPECIAL_TEXTS } from '../../support/yaml-texts.ts';
import { cachePath, fillCache } from '../control-plane/cache.ts';
import { goBuild } from '../control-plane/go-build.ts';

const MODULE = path.join(import.meta.dirname, 'go-yaml');
const PROGRAM = 'go-yaml';
const SPECS = 4_000;
/** Fixed, so that a failure repeats. */
const SEED = 20_261_123;

const SPECIAL_NUMBERS = [
  0,
  -0,
  1,
  -1,
  420,
  0.1,
  -0.5,
  1.5e-7,
  1e-4,
  9.9e-5,
  1234567.5,
  123456.5,
  2 ** 52 - 0.5,
  2 ** 53 - 1,
];

/** The operator's YAML parser rejects a NEL in a key. */
const isKey = (item: string): boolean => !item.includes('\u0085');

const character = fc.constantFrom(...Array.from('abYn01.:-# \n\t\'"~/ä\u2028\u0085\u0001😀\uFEFF'));
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...SPECIAL_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.constantFrom('a', 'word', "it's", '#', '😀', '', 'key:'), { maxLength: 60 })
      .map((words) => words.join(' ')),
  },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(...SPECIAL_TEXTS), { maxLength: 5 }).map((parts) => parts.join('\n')),
  },
);
const number = fc.oneof(
  fc.constantFrom(...SPECIAL_NUMBERS),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, min: -(2 ** 53), max: 2 ** 53 }),
);
/** Without digits at the start: Go's order of `089`, `0x1` and `1_0` is a cycle, and differs between runs. */
const key = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,8}[0-9]{0,3}$/) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...SPECIAL_TEXTS.filter((item) => isKey(item) && !/^[-+.0-9]/.test(item)),
      'a1',
      'a02',
      'a10',
      'a2',
      'a/1',
      'a-b',
      'aB',
      'k'.repeat(129),
    ),
  },
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
}));
const spec = fc.dictionary(key, value, { maxKeys: 6 });

async function buildProgram(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(path.join(MODULE, file)));
  const directory = cachePath('go-yaml', hash.digest('hex').slice(0, 16));
  if (!existsSync(directory)) {
    await fillCache(directory, async (unfinished, reaper) => {
      const output = path.join(unfinished, PROGRAM);
      await goBuild({ module: MODULE, package: '.', output, ldflags: '-s -w', reaper });
    });
  }
  return path.join(directory, PROGRAM);
}

const program = await buildProgram();

/** The YAML of each value as Go formats it. Null if Go cannot. */
function formatWithGo(values: readonly unknown[]): (string | null)[] {
  const input = values.map((item) => `${JSON.stringify(item)}\n`).join('');
  const output = execFileSync(program, { input, encoding: 'utf8', maxBuffer: 512 * 1024 * 1024 });
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as string | null);
}

function expectSameYaml(values: readonly unknown[], maxRejected: number): void {
  const expected = formatWithGo(values);
  expect(expected).toHaveLength(values.length);
  const rejected = expected.filter((yaml) => yaml === null).length;
  expect(rejected).toBeLessThanOrEqual(maxRejected);
  for (const [index, yaml] of expected.entries()) {
    const [value, actual] = [values[index], formatGoYaml(values[index])];
    if (yaml !== null && actual !== yaml) expect({ value, yaml: actual }).toEqual({ value, yaml });
  }
}

test('formats each special text as Go does: alone, as a value, an item and a key', () => {
  const values = SPECIAL_TEXTS.flatMap((item) => [item, { key: item }, { key: [item, { key: item }, [item]] }]);
  const mappings = SPECIAL_TEXTS.filter(isKey).map((item) => ({
    [item]: 1,
    b: { [item]: [item] },
    [`0${item}`]: {},
    [`${item}1`]: [],
  }));
  expectSameYaml([...values, ...mappings], 0);
});

test('formats each number as Go does', () => {
  expectSameYaml(
    SPECIAL_NUMBERS.flatMap((item) => [item, { key: [item] }]),
    0,
  );
});

test('formats every code point as Go does', () => {
  const codes = Array.from({ length: 0x11_00 }, (_, index) => index * 0x100);
  const ranges = codes
    .filter((code) => code < 0xd8_00 || code >= 0xe0_00)
    .filter((code) => code < 0x1_00_00 || code % 0x10_00 === 0);
  const characters = ranges.flatMap((start) =>
    Array.from({ length: 0x100 }, (_, index) => String.fromCodePoint(start + index)),
  );
  expectSameYaml(
    characters.map((item) => [item, `a${item}b`, `${item} b`, `a\n${item}`]),
    40,
  );
});

test(`formats ${SPECS} generated specs as Go does`, () => {
  expectSameYaml(fc.sample(spec, { numRuns: SPECS, seed: SEED }), SPECS / 100);
});
