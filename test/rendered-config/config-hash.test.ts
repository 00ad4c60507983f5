import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test, vi } from 'vitest';
import { computeRenderedName } from '../../src/rendered-config/config-hash.ts';

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

// The hash is of the operator's function in pkg/controller/render/hash.go. test/e2e/restore compares the YAML with Go.
test('computes the name that the operator gives to a spec', () => {
  expect(computeRenderedName('master', SPEC)).toBe('rendered-master-a62ce7b49611c7a0d6e525634ec62a56');
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
