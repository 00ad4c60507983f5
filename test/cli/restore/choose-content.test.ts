import { expect, test } from 'vitest';

import { chooseContent, NO_EVIDENCE } from '../../../src/cli/restore/choose-content.ts';
import type { RenderedConfig } from '../../../src/rendered-config/rendered-config.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';

const { signal } = new AbortController();
const { name, spec } = createConfigOnDisk();
const ORIGINAL_IMAGE = spec['osImageURL'] as string;
const EVIDENCE = { images: new Set(['quay.io/a@sha256:1', ORIGINAL_IMAGE]), similarConfig: undefined };

function copy(changes: object, source = 'a.json'): RenderedConfig {
  return { ...toConfigOnDisk('master', { ...spec, ...changes }, name).config, source };
}

test('takes the copy that matches the name, in any order', async () => {
  const [good, bad] = [copy({}, 'good.json'), copy({ fips: true }, 'bad.json')];
  for (const copies of [
    [good, bad],
    [bad, good],
  ]) {
    expect(await chooseContent(copies, NO_EVIDENCE, signal)).toEqual({ config: good });
  }
});

test('undoes the osImageURL that the machine-config-server has changed', async () => {
  const content = await chooseContent([copy({ osImageURL: 'quay.io/layered@sha256:2' })], EVIDENCE, signal);
  expect(content.config.spec).toEqual(spec);
  expect(content.correction).toMatch(/^The machine-config-server has changed osImageURL in a\.json\./);
});

test.each([1, 3])('undoes kernel arguments that it has appended %i times', async (times) => {
  const shouldExist = ['a=1', 'b'];
  const config = { ...(spec['config'] as object), kernelArguments: { shouldExist } };
  const original = createConfigOnDisk('master', { config, kernelArguments: ['c', 'b'] });
  const kernelArguments = ['c', 'b', ...Array.from({ length: times }, () => shouldExist).flat()];
  const changes = { ...original.spec, kernelArguments, osImageURL: 'quay.io/layered@sha256:2' };
  const changed = toConfigOnDisk('master', changes, original.name).config;

  const content = await chooseContent([changed], EVIDENCE, signal);

  // The image of the original is random in no field.
  expect(content.config.spec).toEqual(original.spec);
  expect(content.correction).toContain('osImageURL and kernelArguments');
});

test('names the hash of each copy if none matches', async () => {
  const copies = [copy({ fips: true }, 'a.json'), copy({ kernelType: 'realtime' }, 'b.json')];
  const { config, mismatch } = await chooseContent(copies, { ...EVIDENCE, similarConfig: name }, signal);
  expect(config).toBe(copies[0]);
  expect(mismatch?.similarConfig).toBe(name);
  expect(mismatch?.reason).toMatch(
    /^the hash of the content of a\.json is ([0-9a-f]{32}) and the hash of the content of b\.json is (?!\1)/,
  );
});
