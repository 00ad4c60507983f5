import { expect, test } from 'vitest';
import { isAtLeast, parseKubernetesVersion } from '../../src/install/kubernetes-version.ts';

test.each([
  ['1.27', 27],
  ['v1.33.5+5eb7a2f', 33],
])('parses %s', (text, minor) => {
  expect(parseKubernetesVersion(text)).toEqual({ major: 1, minor });
});

test.each([
  ['4.18', /OpenShift/],
  ['1.26', /oldest/],
  ['1.31; rm -rf /', /such as 1\.31/],
])('rejects %j', (text, message) => {
  expect(() => parseKubernetesVersion(text)).toThrow(RangeError);
  expect(() => parseKubernetesVersion(text)).toThrow(message);
});

test('an unknown version is not at least 1.29', () => {
  expect(isAtLeast(undefined, { major: 1, minor: 29 })).toBe(false);
});
