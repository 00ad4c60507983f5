import path from 'node:path';
import { expect, test } from 'vitest';
import { summaryInPage, summaryOfResults } from '../bench/wanted.ts';
import { listFiles, readFile, readTableRows } from './pages.ts';

test('docs/performance.md shows the goals of the stored results (npm run bench -- --summary)', () => {
  expect(summaryInPage()).toContain('| yes |');
  expect(summaryInPage()).toBe(summaryOfResults());
});

test('docs/performance.md lists every bench', () => {
  const benches = listFiles('test/bench/benches').map((file) => `\`${path.basename(file, '.ts')}\``);
  const rows = readTableRows(readFile('docs/performance.md'));
  expect(rows.map(([bench]) => bench)).toEqual(expect.arrayContaining(benches));
});
