import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Code, CODES, docsLink } from '../../src/decision/codes.ts';

const page = readFileSync(new URL('../../docs/codes.md', import.meta.url), 'utf8');
const headings = [...page.matchAll(/^## (MCG_\w+)$/gm)].map(([, code]) => code);

test('every code has exactly one section in docs/codes.md, and the page explains no other', () => {
  expect(new Set(headings)).toEqual(new Set(Object.keys(CODES)));
  expect(headings).toHaveLength(Object.keys(CODES).length);
});

test.each(Object.entries(CODES))('%s: the section opens with the registry’s own sentence', (code, sentence) => {
  const section = page.split(`## ${code}\n`)[1]?.trimStart() ?? '';
  expect(section.startsWith(sentence)).toBe(true);
});

test('a message’s link leads to the section', () => {
  const code: Code = 'MCG_IN_USE';
  expect(docsLink(code)).toMatch(/\/docs\/codes\.md#mcg_in_use$/);
});
