import { expect, test } from 'vitest';
import { findAll, listFiles, readFile } from './pages.ts';

const PAGES = findAll(listFiles('docs').join('\n'), /^(.*\.md)$/gm);

// Readers do not finish long pages, so a new passage should replace an old one. Code counts, too, as in `wc -w`.
test.each([
  ['README.md has', 750, ['README.md']],
  ['docs/ has', 17_450, PAGES],
])('%s at most %d words', (_, limit, pages) => {
  const words = pages.map((page) => readFile(page).split(/\s+/).filter(Boolean).length);
  expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(limit);
});
