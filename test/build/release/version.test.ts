import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { listFiles, readFile } from '../../docs/pages.ts';

const FOLDERS = ['docs', 'manifests', 'src'];
const FILES = [
  'Containerfile',
  'README.md',
  ...FOLDERS.flatMap(listFiles).filter((name) => /\.(?:md|ts|yaml)$/.test(name)),
];
/** `npm version` changes these (build/release/set-references.ts). */
const REFERENCE = /(?:\?ref=v|\bmachineconfig-guard:|\bapp\.kubernetes\.io\/version: )[\d.]+\d/g;

test('only package.json, package-lock.json, and references in the documentation and labels name the version', () => {
  const version = new RegExp(String.raw`(?<![\d.])${packageJson.version.replaceAll('.', String.raw`\.`)}(?![\d.])`);
  const isReference = (file: string): boolean => /^(?:docs|manifests)\/|^README\.md$/.test(file);
  const withVersion = FILES.filter((file) => {
    const text = readFile(file);
    return version.test(isReference(file) ? text.replaceAll(REFERENCE, '') : text);
  });
  expect(withVersion).toEqual([]);
});
