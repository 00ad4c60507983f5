import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { chooseCopies, computeRenderedName, hasMatchingName } from '../../src/rendered-config/config-hash.ts';
import { UnverifiableContent } from '../../src/rendered-config/go-yaml.ts';
import { UNVERIFIABLE_TEXTS } from '../support/yaml-texts.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

/**
 * Rendered configs that the real machine-config-controller made from varied sources of this project: `metadata.name`
 * and `spec`, as in the file of the in-cluster machine-config-server.
 */
const OPERATOR_CONFIGS = JSON.parse(
  gunzipSync(readFileSync(join(import.meta.dirname, 'operator-configs.json.gz'))).toString(),
) as readonly { readonly metadata: { readonly name: string }; readonly spec: Readonly<Record<string, unknown>> }[];
/** Their sources are lists of odd texts, with a date, U+0085, U+2028 or a byte order mark. */
const UNVERIFIABLE_CONFIG = /-h(?:0[2-5]|2[78]|38|4[1-7])-/;

test.each(OPERATOR_CONFIGS.map(({ metadata, spec }) => [metadata.name, spec] as const))(
  'verifies the content of %s, and no other content',
  (text, spec) => {
    const name = toConfigName(text);
    const isVerifiable = !UNVERIFIABLE_CONFIG.test(name);
    expect(hasMatchingName({ name, spec })).toBe(isVerifiable ? true : null);
    const changed = { ...spec, kernelType: `x${String(spec['kernelType'])}` };
    expect(hasMatchingName({ name, spec: changed })).toBe(isVerifiable ? false : null);
  },
);

const [{ metadata: FIRST, spec: SPEC }] = OPERATOR_CONFIGS as [(typeof OPERATOR_CONFIGS)[number]];
const POOL = 'h00';

test.each([
  ...UNVERIFIABLE_TEXTS.map((text) => ({ kernelArguments: [text] })),
  { 'a-b': 1 },
  { a10: 1 },
  { yes: 1 },
  { mode: 0.5 },
  { mode: 2 ** 53 },
])('cannot verify %j', (change) => {
  expect(() => computeRenderedName(POOL, { ...SPEC, ...change })).toThrow(UnverifiableContent);
});

test('computes another name for null than for an empty list', () => {
  expect(computeRenderedName(POOL, { ...SPEC, kernelArguments: [] })).toBe(FIRST.name);
  expect(computeRenderedName(POOL, { ...SPEC, kernelArguments: null })).not.toBe(FIRST.name);
});

test('computes the name where OpenSSL has no MD5, as under FIPS', () => {
  const createHash = vi.spyOn(crypto, 'createHash').mockImplementation(() => {
    throw new Error('digital envelope routines::unsupported');
  });
  syncBuiltinESMExports();
  try {
    expect(computeRenderedName(POOL, SPEC)).toBe(FIRST.name);
  } finally {
    createHash.mockRestore();
    syncBuiltinESMExports();
  }
});

test('of copies without a match and without content, chooses the first', () => {
  const config = { name: toConfigName(FIRST.name), apiVersion: '', annotations: {} };
  const copies = ['a', 'b'].map((label) => ({ ...config, origins: [{ type: 'file', label } as const], spec: {} }));
  expect(chooseCopies(copies)).toEqual([copies[0]]);
});
