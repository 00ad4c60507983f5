import { expect, test } from 'vitest';
import { CODE_DESCRIPTIONS, formatHelpNote } from '../../src/decision/codes.ts';
import { findAll, readFile } from './pages.ts';

test('docs/codes.md explains every code once, in the words of the program', () => {
  const page = readFile('docs/codes.md');
  const codes = findAll(page, /^## (\w+)$/gm);
  const sentences = findAll(page, /^## \w+\n\n(.+)$/gm);
  expect(codes).toHaveLength(Object.keys(CODE_DESCRIPTIONS).length);
  expect(Object.fromEntries(codes.map((code, index) => [code, sentences[index]]))).toEqual(CODE_DESCRIPTIONS);
  expect(formatHelpNote('MCG_IN_USE')).toMatch(
    /^Run machineconfig-guard explain MCG_IN_USE, or see https:.*\/docs\/codes\.md#mcg_in_use$/,
  );
});
