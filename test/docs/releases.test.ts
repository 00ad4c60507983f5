import { expect, test } from 'vitest';
import { readFile } from './pages.ts';

/** The pages that tell readers to download a release. */
const PAGES = ['README.md', 'docs/install.md', 'docs/fleet/README.md', 'docs/internals/development.md'];
const SENTENCE = 'No release exists yet.';

const changelog = readFile('CHANGELOG.md');

test.each(PAGES)('%s says that no release exists until CHANGELOG.md has one', (page) => {
  const hasRelease = /^## \[?\d+\.\d+\.\d+/m.test(changelog);
  expect(readFile(page).replaceAll(/\s+/g, ' ').includes(SENTENCE)).toBe(!hasRelease);
});
