import { createSecureContext } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { INTERMEDIATE_CIPHERS } from '../../src/webhook/cipher-suites.ts';
import { describeTlsProfile, parseTlsProfile, UnusableTlsProfile } from '../../src/webhook/tls-profile.ts';

const TLS_1_3 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';
const [AES_128, AES_256] = ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384'];

function parse(tlsSecurityProfile?: object | null) {
  return parseTlsProfile({ spec: { tlsSecurityProfile } });
}

function parseCustom(ciphers: readonly string[], minTLSVersion = 'VersionTLS12', groups?: readonly string[]) {
  return parse({ type: 'Custom', custom: { ciphers, minTLSVersion, groups } });
}

test.each([
  ['there is none', undefined],
  ['it is null', null],
  ['its type is empty', { type: '' }],
  ['its type is Intermediate', { type: 'Intermediate', intermediate: {} }],
])('is Intermediate if %s', (_case, profile) => {
  expect(parse(profile)).toEqual({
    type: 'Intermediate',
    minVersion: 'TLSv1.2',
    ciphers: INTERMEDIATE_CIPHERS,
    groups: expect.stringMatching(/^(?:X25519MLKEM768:)?X25519:secp256r1:secp384r1$/) as string,
    unsupported: [],
  });
});

test('an object without a spec means Intermediate', () => {
  expect(parseTlsProfile({}).type).toBe('Intermediate');
});

test('Modern has the suites of TLS 1.3 only', () => {
  expect(parse({ type: 'Modern' })).toMatchObject({ minVersion: 'TLSv1.3', ciphers: TLS_1_3 });
});

test('Old adds the suites that Node.js supports, from TLS 1.2 on', () => {
  const { minVersion, ciphers, unsupported } = parse({ type: 'Old' });
  expect([minVersion, unsupported]).toEqual(['TLSv1.2', []]);
  expect(ciphers.startsWith(`${INTERMEDIATE_CIPHERS}:`)).toBe(true);
  expect(ciphers.split(':')).toContain('AES128-SHA');
  expect(ciphers).not.toMatch(/DES|\bDHE/);
});

test('an unknown type is unusable', () => {
  expect(() => parse({ type: 'Quantum' })).toThrow(new UnusableTlsProfile('the TLS profile type "Quantum" is unknown'));
});

describe('Custom', () => {
  test('has the named suites, by names of OpenSSL or IANA, and all of TLS 1.3', () => {
    expect(parseCustom([AES_256, 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'])).toEqual({
      type: 'Custom',
      minVersion: 'TLSv1.2',
      ciphers: `${TLS_1_3}:${AES_256}:${AES_128}`,
      groups: 'auto',
      unsupported: [],
    });
  });

  test('has only the named suites of TLS 1.3 if there are any', () => {
    const ciphers = ['TLS_AES_256_GCM_SHA384', AES_256];
    expect(parseCustom(ciphers).ciphers).toBe(ciphers.join(':'));
  });

  test.each([
    ['VersionTLS10', 'TLSv1.2'],
    ['VersionTLS11', 'TLSv1.2'],
    ['VersionTLS12', 'TLSv1.2'],
    ['VersionTLS13', 'TLSv1.3'],
  ])('%s means at least %s', (version, minVersion) => {
    expect(parseCustom([AES_128], version).minVersion).toBe(minVersion);
  });

  test('leaves out suites that Node.js does not support, and expressions of OpenSSL', () => {
    const ciphers = [AES_128, 'DES-CBC3-SHA', 'ALL:@SECLEVEL=0'];
    const profile = parseCustom(ciphers);
    expect(profile).toMatchObject({ ciphers: `${TLS_1_3}:${AES_128}`, unsupported: ciphers.slice(1) });
    expect(describeTlsProfile(profile)).toBe(
      'TLS 1.2 and later with 4 cipher suites, without "DES-CBC3-SHA" and "ALL:@SECLEVEL=0", ' +
        'which Node.js does not support',
    );
  });

  test('has the named groups in their order, without those that Node.js does not support', () => {
    const profile = parseCustom([AES_128], 'VersionTLS12', ['secp521r1', 'X25519MLKEM9999', 'auto', 'P-256:x']);
    expect(profile).toMatchObject({
      groups: 'secp521r1',
      unsupported: ['X25519MLKEM9999', 'auto', 'P-256:x'],
    });
  });

  test.each([
    ['cipher suite', ['DES-CBC3-SHA', '', AES_128.toLowerCase()], undefined],
    ['group', [AES_128], ['X25519MLKEM9999']],
  ])('is unusable if no %s is supported', (noun, ciphers, groups) => {
    expect(() => parseCustom(ciphers, 'VersionTLS13', groups)).toThrow(
      new UnusableTlsProfile(`the TLS profile Custom names no ${noun} that Node.js supports`),
    );
  });

  test.each([[{}], [{ custom: null }], [{ custom: { ciphers: [] } }], [{ custom: { ciphers: 'x' } }]])(
    'uses the suites of Intermediate for %j',
    (custom) => {
      const profile = parse({ type: 'Custom', ...custom });
      expect(profile).toEqual({
        type: 'Custom',
        minVersion: 'TLSv1.2',
        ciphers: INTERMEDIATE_CIPHERS,
        groups: 'auto',
        unsupported: [],
      });
    },
  );
});

test.each([
  parse({ type: 'Old' }),
  parse({ type: 'Intermediate' }),
  parse({ type: 'Modern' }),
  parseCustom(['TLS_AES_128_GCM_SHA256']),
  parseCustom(['DHE-RSA-AES128-GCM-SHA256'], 'VersionTLS13', ['secp256r1', 'secp384r1']),
  parseCustom(['AES256-SHA', 'x']),
])('OpenSSL accepts $type with $ciphers', ({ minVersion, ciphers, groups }) => {
  expect(() => createSecureContext({ minVersion, ciphers, ecdhCurve: groups })).not.toThrow();
});
