import { expect, test } from 'vitest';
import { createPage, wrapText } from '../../src/cli/page.ts';

test('is as wide as the terminal, between 80 and 100 characters, and 80 without a terminal', () => {
  const widths = [undefined, 40, 90, 200].map((columns) => {
    return createPage(columns === undefined ? {} : { isTTY: true, columns }, {}).width;
  });
  expect(widths).toEqual([80, 80, 90, 100]);
});

test.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
  [{}, {}, false],
  [{}, { FORCE_COLOR: '1' }, true],
  [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('stream %j and environment %j: colours %s', (stream, env, colours) => {
  expect(createPage(stream, env).colours).toBe(colours);
});

test('wraps a text at spaces, and never within a link', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
});
