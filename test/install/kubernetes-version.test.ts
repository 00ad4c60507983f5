import { expect, test } from 'vitest';
import { parseKubernetesVersion, parseOpenShiftVersion } from '../../src/install/kubernetes-version.ts';

test.each([
  [parseKubernetesVersion, '1.27', 27],
  [parseKubernetesVersion, 'v1.33.5+5eb7a2f', 33],
  [parseKubernetesVersion, '1.26', /oldest/],
  [parseKubernetesVersion, '1.31; rm -rf /', /oldest/],
  [parseOpenShiftVersion, '4.14', 27],
  [parseOpenShiftVersion, '4.20.0-rc.1', 33],
  [parseOpenShiftVersion, '5.0', 35],
  [parseOpenShiftVersion, '4.13', /oldest/],
  [parseOpenShiftVersion, '6.0', /from 4\.14 to 5, such as 4\.18/],
  [parseOpenShiftVersion, 'stable-4.18', /such as 4\.18/],
] as const)('%o reads %j as Kubernetes 1.%s', (parse, text, expected) => {
  if (typeof expected === 'number') expect(parse(text)).toBe(expected);
  else
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ name: 'RangeError', message: expect.stringMatching(expected) as string }),
    );
});
