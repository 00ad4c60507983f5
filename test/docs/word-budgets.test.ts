import { expect, test } from 'vitest';
import { findAll, listFiles, readFile } from './pages.ts';

const PAGES = findAll(listFiles('docs').join('\n'), /^(.*\.md)$/gm);
const INTERNAL_PAGES = PAGES.filter((page) => page.startsWith('docs/internals/'));
const RUNBOOKS = PAGES.filter((page) => page.startsWith('docs/runbooks/'));
const NAMES = ['install', 'operate', 'inspect', 'codes', 'troubleshooting', 'audit', 'monitoring', 'fleet/README'];
const ADMINISTRATOR_PAGES = [...NAMES.map((name) => `docs/${name}.md`), ...RUNBOOKS];

// Readers do not finish long pages, so a new passage should replace an old one.
test.each([
  { title: 'README.md has', pages: ['README.md'], limit: 750 },
  { title: 'the pages for administrators have', pages: ADMINISTRATOR_PAGES, limit: 10_500 },
  { title: 'the pages for readers of the code have', pages: INTERNAL_PAGES, limit: 4_500 },
])('$title at most $limit words', ({ pages, limit }) => {
  const words = pages.map((page) => countWords(readFile(page)));
  expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(limit);
});

test('docs/ has no other pages', () => {
  expect(PAGES.toSorted()).toEqual([...ADMINISTRATOR_PAGES, ...INTERNAL_PAGES].toSorted());
});

/** Marks without a letter or a digit, such as the lines of tables, are no words. */
function countWords(text: string): number {
  return findAll(text, /(\S*[\p{L}\p{N}]\S*)/gu).length;
}
