import { expect, test } from 'vitest';
import { findAll, listFiles, readFile } from './pages.ts';

const PAGES = findAll(listFiles('docs').join('\n'), /^(.*\.md)$/gm);
const INTERNAL_PAGES = PAGES.filter((page) => page.startsWith('docs/internals/'));
const RUNBOOKS = PAGES.filter((page) => page.startsWith('docs/runbooks/'));
const NAMES = ['install', 'operate', 'inspect', 'codes', 'troubleshooting', 'audit', 'monitoring', 'fleet/README'];
const ADMINISTRATOR_PAGES = [...NAMES.map((name) => `docs/${name}.md`), ...RUNBOOKS];

// Readers do not finish long pages, so a new passage should replace an old one.
test.each([
  ['README.md has', 750, ['README.md']],
  ['the pages for administrators have', 10_500, ADMINISTRATOR_PAGES],
  ['the pages for readers of the code have', 4_500, INTERNAL_PAGES],
])('%s at most %d words', (_, limit, pages) => {
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
