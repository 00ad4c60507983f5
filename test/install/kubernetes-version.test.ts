import { expect, test } from 'vitest';
import { parseKubernetesVersion, parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';

test.each([
  [parseKubernetesVersion, '1.27', 27],
  [parseKubernetesVersion, 'v1.33.5+5eb7a2f', 33],
  [parseOpenShiftVersion, '4.14', 27],
  [parseOpenShiftVersion, '4.18.21', 31],
  [parseOpenShiftVersion, '4.20.0-rc.1', 33],
  [parseOpenShiftVersion, '5.0', 35],
])('%o finds in %j Kubernetes 1.%i', (parse, text, minor) => {
  expect(parse(text)).toEqual({ major: 1, minor });
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
