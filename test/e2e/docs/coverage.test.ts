import { expect, test } from 'vitest';

import { documentedCommands, listMarkdown, PAGES } from '../support/documented-page.ts';

test('a test file runs the commands of every page that has some', () => {
  const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...listMarkdown('docs')];
  const pagesWithCommands = pages.filter((page) => documentedCommands(page).length > 0);

  expect(Object.values(PAGES).flat().toSorted()).toEqual(pagesWithCommands.toSorted());
});
