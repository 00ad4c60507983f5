import { expect, test } from 'vitest';
import { readPromises, splitTest, toPattern } from '../promises/promises.ts';
import { readFile } from './pages.ts';

test.each(readPromises())('a test proves: $promise', (promised) => {
  const { file, title } = splitTest(promised);
  expect(readFile(file).replaceAll("\\'", "'")).toMatch(new RegExp(`(['"\`])${toPattern(title)}\\1`));
});
