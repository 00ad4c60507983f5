import { expect, test } from 'vitest';
import { readFile, readTableRows } from './pages.ts';

const ROWS = readTableRows('docs/development.md').filter(([, proof]) => /^`test\/\S+\.test\.ts`: /.test(proof ?? ''));

test('docs/development.md names for each promise a test that exists, and how it was seen to fail', () => {
  expect(ROWS.length).toBeGreaterThan(80);
  const wrong = ROWS.filter(([, proof = '', failure = '']) => {
    const [, file = '', title = ''] = /^`(.*?)`: (.*)$/.exec(proof) ?? [];
    return failure === '' || !readFile(file).replaceAll("\\'", "'").includes(title);
  });
  expect(wrong).toEqual([]);
});
