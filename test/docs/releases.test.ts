import { expect, test } from 'vitest';
import { findAll, readFile } from './pages.ts';

/** The pages that tell readers to download a release. */
const PAGES = ['README.md', 'docs/install.md', 'docs/fleet/README.md', 'docs/internals/development.md'];
const SENTENCE = 'No release exists yet.';
const MAX_WORDS = 150;

const changelog = readFile('CHANGELOG.md');

test.each(PAGES)('%s says that no release exists until CHANGELOG.md has one', (page) => {
  const hasRelease = /^## \[?\d+\.\d+\.\d+/m.test(changelog);
  expect(readFile(page).replaceAll(/\s+/g, ' ').includes(SENTENCE)).toBe(!hasRelease);
});

test(`each entry of CHANGELOG.md has at most ${MAX_WORDS} words`, () => {
  const lengths = changelog
    .split(/^## /m)
    .slice(1)
    .map((entry) => findAll(entry.replace(/^.*\n/, ''), /(\S*[\p{L}\p{N}]\S*)/gu).length);
  expect(lengths.length).toBeGreaterThan(0);
  expect(lengths.filter((length) => length > MAX_WORDS || length === 0)).toEqual([]);
});
