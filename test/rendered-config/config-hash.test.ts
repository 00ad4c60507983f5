import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { computeRenderedName, hasMatchingName } from '../../src/rendered-config/config-hash.ts';
import { UnverifiableContent } from '../../src/rendered-config/go-yaml.ts';
import { UNVERIFIABLE_TEXTS } from '../support/yaml-texts.ts';

const SPEC = {
  osImageURL: 'quay.io/os@sha256:1',
  baseOSExtensionsContainerImage: '',
  config: {
    ignition: { version: '3.5.0' },
    storage: {
      files: [{ path: '/etc/motd', mode: 420, overwrite: true, contents: { source: 'data:,a%20b' } }],
    },
    systemd: {
      units: [
        {
          name: 'a.service',
          enabled: true,
          contents: '[Unit]\nDescription=a "b"\n\n[Service]\nExecStart=/bin/true\n',
        },
      ],
    },
  },
  kernelArguments: null,
  extensions: [],
  fips: false,
  kernelType: 'default',
};

/**
 * Rendered configs that the real machine-config-controller made from varied sources of this project: `metadata.name`
 * and `spec`, as in the file of the in-cluster machine-config-server.
 */
const OPERATOR_CONFIGS = JSON.parse(
  gunzipSync(readFileSync(join(import.meta.dirname, 'operator-configs.json.gz'))).toString(),
) as readonly { readonly metadata: { readonly name: string }; readonly spec: Readonly<Record<string, unknown>> }[];
/** Their sources are lists of odd texts, with a date, U+0085, U+2028 or a byte order mark. */
const UNVERIFIABLE_CONFIG = /-h(?:0[2-5]|2[78]|38|4[1-7])-/;

// The hash is of the operator's function in pkg/controller/render/hash.go. test/e2e/restore compares the YAML with Go.
test('computes the name that the operator gives to a spec', () => {
  expect(computeRenderedName('master', SPEC)).toBe('rendered-master-a62ce7b49611c7a0d6e525634ec62a56');
});

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

test.each([
  ...UNVERIFIABLE_TEXTS.map((text) => ({ kernelArguments: [text] })),
  { 'a-b': 1 },
  { a10: 1 },
  { yes: 1 },
  { mode: 0.5 },
  { mode: 2 ** 53 },
])('cannot verify %j', (spec) => {
  expect(() => computeRenderedName('master', { ...SPEC, ...spec })).toThrow(UnverifiableContent);
});

test.each([
  ['another pool', 'worker', SPEC],
  ['another value', 'master', { ...SPEC, fips: true }],
  ['an empty list instead of null', 'master', { ...SPEC, kernelArguments: [] }],
])('computes another name for %s', (_, pool, spec) => {
  expect(computeRenderedName(pool, spec)).not.toBe(computeRenderedName('master', SPEC));
});

test('computes the name where OpenSSL has no MD5, as under FIPS', () => {
  const createHash = vi.spyOn(crypto, 'createHash').mockImplementation(() => {
    throw new Error('digital envelope routines::unsupported');
  });
  syncBuiltinESMExports();
  try {
    expect(computeRenderedName('master', SPEC)).toBe('rendered-master-a62ce7b49611c7a0d6e525634ec62a56');
  } finally {
    createHash.mockRestore();
    syncBuiltinESMExports();
  }
});
