import { expect, test } from 'vitest';
import { formatTable, readPromises, splitTest, toPattern } from '../promises/promises.ts';
import { readFile } from './pages.ts';

const promises = readPromises();

test('docs/internals/testing.md has the table that npm run test:promises -- --table writes', () => {
  expect(promises.length).toBeGreaterThan(55);
  expect(readFile('docs/internals/testing.md')).toContain(`\n${formatTable(promises)}\n`);
});

test.each(promises)('a test proves: $promise', (promised) => {
  const { file, title } = splitTest(promised);
  expect(readFile(file).replaceAll("\\'", "'")).toMatch(new RegExp(`(['"\`])${toPattern(title)}\\1`));
});
