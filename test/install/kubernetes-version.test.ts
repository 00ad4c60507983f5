import { expect, test } from 'vitest';
import { parseKubernetesVersion, parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';

test.each([
  ['1.27', 27],
  ['v1.33.5+5eb7a2f', 33],
])('parses Kubernetes %s', (text, minor) => {
  expect(parseKubernetesVersion(text)).toEqual({ major: 1, minor });
});

test.each([
  ['4.14', 27],
  ['4.18.21', 31],
  ['4.20.0-rc.1', 33],
  ['5.0', 35],
])('OpenShift %s has Kubernetes 1.%i', (text, minor) => {
  expect(parseOpenShiftVersion(text)).toEqual({ major: 1, minor });
});

test.each([
  [parseKubernetesVersion, '1.26', /oldest/],
  [parseKubernetesVersion, '1.31; rm -rf /', /oldest/],
  [parseOpenShiftVersion, '1.31', /such as 4\.18/],
  [parseOpenShiftVersion, '4.13', /oldest/],
  [parseOpenShiftVersion, 'stable-4.18', /such as 4\.18/],
])('%o rejects %j', (parse, text, message) => {
  expect(() => parse(text)).toThrow(RangeError);
  expect(() => parse(text)).toThrow(message);
});
