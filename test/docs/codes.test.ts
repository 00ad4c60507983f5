import { expect, test } from 'vitest';
import { RULES } from '../../src/cli/check/manifests/rules.ts';
import { CODE_DESCRIPTIONS, formatHelpNote } from '../../src/decision/verdict.ts';
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

const [, section = ''] = /^### Before the install\n(.*?)^### /ms.exec(readFile('docs/inspect.md')) ?? [];

test('docs/inspect.md lists every code of check --manifests once, and shows what the command prints', () => {
  const codes = findAll(section, /^\| (`[^|]*) \|/gm).flatMap((cell) => findAll(cell, /`(\w+)`/g));
  expect(codes.toSorted()).toEqual([...RULES.keys()].toSorted());
  const { message = '', advice = '' } = RULES.get('MultipleDocuments') ?? {};
  const explanation = `MultipleDocuments: ${message.replace('%s', '2')}; ${advice}.`;
  expect(section.replaceAll(/\s+/g, ' ')).toContain(explanation);
});
