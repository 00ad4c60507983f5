import { expect, test } from 'vitest';
import { parseKubernetesVersion, parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';

const PARSERS = { Kubernetes: parseKubernetesVersion, OpenShift: parseOpenShiftVersion };

test.each([
  ['Kubernetes', '1.27', 27],
  ['Kubernetes', 'v1.33.5+5eb7a2f', 33],
  ['OpenShift', '4.14', 27],
  ['OpenShift', '4.18.21', 31],
  ['OpenShift', '4.20.0-rc.1', 33],
  ['OpenShift', '5.0', 35],
] as const)('%s %j is Kubernetes 1.%i', (product, text, minor) => {
  expect(PARSERS[product](text)).toEqual(minor);
});

test.each([
  ['Kubernetes', '1.26', /oldest/],
  ['Kubernetes', '1.31; rm -rf /', /oldest/],
  ['OpenShift', '1.31', /such as 4\.18/],
  ['OpenShift', '4.13', /oldest/],
  ['OpenShift', 'stable-4.18', /such as 4\.18/],
] as const)('%s %j is rejected', (product, text, message) => {
  expect(() => PARSERS[product](text)).toThrow(RangeError);
  expect(() => PARSERS[product](text)).toThrow(message);
});
