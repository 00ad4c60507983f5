import { expect, test } from 'vitest';
import { formatTable, readPromises, splitTest, toPattern } from '../promises/promises.ts';
import { readFile } from './pages.ts';

const promises = readPromises();

test('docs/internals/testing.md has the rows that npm run test:promises -- --table writes', () => {
  expect(promises.length).toBeGreaterThan(55);
  const rows = formatTable(promises).split('\n').slice(2);
  const isProof = (line: string) => /^\| .* \| `[^`]+`: .* \| .* \|$/.test(line);
  expect(readFile('docs/internals/testing.md').split('\n').filter(isProof)).toEqual(rows);
});

test.each(promises)('a test proves: $promise', (promised) => {
  const { file, title } = splitTest(promised);
  expect(readFile(file).replaceAll("\\'", "'")).toMatch(new RegExp(`(['"\`])${toPattern(title)}\\1`));
});
