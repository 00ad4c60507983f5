import { expect, test } from 'vitest';
import { CODES, docsLink } from '../../src/decision/codes.ts';
import { readFile } from './pages.ts';

test('docs/codes.md explains every code once, in the words of the program', () => {
  const sections = [...readFile('docs/codes.md').matchAll(/^## (\w+)\n\n(.+)$/gm)];
  expect(sections).toHaveLength(Object.keys(CODES).length);
  expect(Object.fromEntries(sections.map(([, code, sentence]) => [code, sentence]))).toEqual(CODES);
  expect(docsLink('MCG_IN_USE')).toMatch(/\/docs\/codes\.md#mcg_in_use$/);
});
