import { expect, test } from 'vitest';
import { isAtLeast, parseKubernetesVersion } from '../../src/install/kubernetes-version.ts';

test.each([
  ['1.27', 27],
  ['1.31', 31],
  ['v1.31.14', 31],
  ['v1.33.5+5eb7a2f', 33],
  ['v1.33.0-rc.1', 33],
])('%s is understood', (text, minor) => {
  expect(parseKubernetesVersion(text)).toEqual({ major: 1, minor });
});

test.each([
  ['4.18', /OpenShift/],
  ['5.0', /OpenShift/],
  ['1.26', /oldest/],
  ['1', /such as 1\.31/],
  ['', /such as 1\.31/],
  ['latest', /such as 1\.31/],
  ['1.31; rm -rf /', /such as 1\.31/],
  ['1.31\n', /such as 1\.31/],
  ['1.9999', /such as 1\.31/],
])('%j is refused with a sentence', (text, says) => {
  expect(() => parseKubernetesVersion(text)).toThrow(RangeError);
  expect(() => parseKubernetesVersion(text)).toThrow(says);
});

test('an unknown version has nothing that came later', () => {
  expect(isAtLeast(undefined, { major: 1, minor: 29 })).toBe(false);
  expect(isAtLeast({ major: 2, minor: 0 }, { major: 1, minor: 29 })).toBe(true);
});
