import { createSecureContext } from 'node:tls';
import { expect, test } from 'vitest';
import { describeTlsProfile, parseTlsProfile, toGroupList, UnusableTlsProfile } from '../../src/serving/tls-profile.ts';

const TLS_1_3 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
const [AES_128, AES_256] = ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384'];
const SUITES = { ciphers: [AES_128], minTLSVersion: 'VersionTLS12' };

function parse(tlsSecurityProfile?: object | null) {
  return parseTlsProfile({ spec: { tlsSecurityProfile } });
}

function parseCustom(custom?: object | null) {
  return parse({ type: 'Custom', custom });
}

/** As in openshift/api, config/v1/types_tlssecurityprofile.go, as of May 2026 (Mozilla's guidelines 5.8). */
test.each([
  ['Intermediate', 'TLSv1.2', 9],
  ['Old', 'TLSv1.2', 23],
  ['Modern', 'TLSv1.3', 3],
])('%s is usable from %s on, with %i cipher suites', (type, version, count) => {
  const { minVersion, ciphers, groups, unsupported } = parse({ type });
  // OpenSSL supports this one only in some builds, and X25519MLKEM768 from 3.5 on.
  expect([minVersion, ciphers.replace(':DES-CBC3-SHA', '').split(':').length]).toEqual([version, count]);
  expect(groups).toMatch(/^(?:X25519MLKEM768:)?X25519:secp256r1:secp384r1$/);
  expect(unsupported).toEqual([]);
  expect(() => createSecureContext({ minVersion, ciphers, ecdhCurve: groups })).not.toThrow();
});

test.each([[undefined], [null], [{ type: '' }]])('is Intermediate for the profile %j', (profile) => {
  expect(parse(profile)).toEqual(parse({ type: 'Intermediate' }));
  expect(parseTlsProfile({})).toEqual(parse({ type: 'Intermediate' }));
});

test.each([
  ['the named suites', { ciphers: ['TLS_AES_256_GCM_SHA384', AES_256, AES_128] }, [...TLS_1_3, AES_256, AES_128]],
  ['the default suites without an object', null, undefined],
  ['the default suites for an empty list', { ciphers: [] }, undefined],
  ['the default suites for a text', { ciphers: 'x' }, undefined],
  ['TLS 1.2 instead of 1.0', { minTLSVersion: 'VersionTLS10' }, undefined],
  ['TLS 1.3', { minTLSVersion: 'VersionTLS13' }, undefined],
])('Custom has %s, all suites of TLS 1.3 and the groups of OpenSSL', (title, custom, suites) => {
  const ciphers = suites?.join(':') ?? parse({ type: 'Intermediate' }).ciphers;
  const minVersion = title === 'TLS 1.3' ? 'TLSv1.3' : 'TLSv1.2';
  const profile = { type: 'Custom', minVersion, ciphers, groups: 'auto', unsupported: [] };
  expect(parseCustom(custom)).toEqual(profile);
});

test('Custom leaves out names that Node.js does not support, and expressions of OpenSSL, and reports them', () => {
  const [ciphers, groups] = [
    ['DES-CBC3-SHA', 'ALL:@SECLEVEL=0'],
    ['X25519MLKEM9999', 'auto', 'P-256:x'],
  ];
  const profile = parseCustom({ ciphers: [AES_128, ...ciphers], groups: ['secp521r1', ...groups, 'secp521r1'] });
  const left = { ciphers: [...TLS_1_3, AES_128].join(':'), groups: 'secp521r1' };
  expect(profile).toMatchObject({ ...left, unsupported: [...ciphers, ...groups] });
  expect(describeTlsProfile({ ...profile, unsupported: ciphers })).toBe(
    'TLS 1.2 and later with 4 cipher suites, without "DES-CBC3-SHA" and "ALL:@SECLEVEL=0", ' +
      'which Node.js does not support',
  );
});

test.each([
  ['Custom names no cipher suite that Node.js supports', { ciphers: ['DES-CBC3-SHA', '', AES_128.toLowerCase()] }],
  ['Custom names no group that Node.js supports', { ...SUITES, groups: ['X25519MLKEM9999'] }],
  ['type "Quantum" is unknown', undefined],
])('is unusable: the TLS profile %s', (problem, custom) => {
  const parseProfile = () => (custom === undefined ? parse({ type: 'Quantum' }) : parseCustom(custom));
  expect(parseProfile).toThrow(new UnusableTlsProfile(`the TLS profile ${problem}`));
});

test.each([
  ['the groups of the profiles', ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'], 'secp256r1:secp384r1'],
  ['only groups with X25519', ['X25519', 'X25519MLKEM768'], ''],
  ['no groups', [], 'secp256r1:secp384r1:secp521r1'],
])('under FIPS, of %s none with X25519 is used', (_case, groups, list) => {
  expect(toGroupList(groups, true)).toBe(list);
});
