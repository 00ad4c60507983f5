import { expect, test } from 'vitest';
import { EXPLANATIONS } from '../../src/cli/check/manifests/find-problems.ts';
import { findAll, readFile } from './pages.ts';

const [, section = ''] = /^### Before the install\n(.*?)^### /ms.exec(readFile('docs/inspect.md')) ?? [];

test('docs/inspect.md lists every code of check --manifests once', () => {
  const codes = findAll(section, /^\| (`[^|]*) \|/gm).flatMap((cell) => findAll(cell, /`(\w+)`/g));
  expect(codes.toSorted()).toEqual(Object.keys(EXPLANATIONS).toSorted());
});

test('docs/inspect.md shows the explanation that the command prints', () => {
  const explanation = EXPLANATIONS.MultipleDocuments.replace('%s', '2');
  expect(findAll(section, /^- (.*)\.$/gm)).toEqual([`MultipleDocuments: ${explanation}`]);
});
