import { expect, test } from 'vitest';
import { CODE_DESCRIPTIONS } from '../../../src/decision/verdict.ts';
import { runProgram, usageError } from '../run-program.ts';

const CODES = Object.entries(CODE_DESCRIPTIONS);

test('without a code, lists every code', async () => {
  const { exitCode, stdout, stderr } = await runProgram(['explain']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const [code, description] of CODES) expect(stdout).toMatch(new RegExp(`^${code} +${description}$`, 'm'));
});

test.each(CODES)('prints the section of %s and no other', async (code, description) => {
  const { exitCode, stdout } = await runProgram(['explain', code]);
  expect(exitCode).toBe(0);
  const [title, empty, ...lines] = stdout.split('\n');
  expect([title, empty]).toEqual([code, '']);
  expect(lines.join(' ')).toContain(description);
  expect(stdout).not.toMatch(/^## |\]\(|```|\*\*/m);
});

test('accepts a code in lower case, and without its prefix', async () => {
  const expected = await runProgram(['explain', 'MCG_IN_USE']);
  for (const code of ['mcg_in_use', 'in-use']) expect(await runProgram(['explain', code])).toEqual(expected);
});

test.each([
  ['MCG_INUSE', 'Did you mean MCG_IN_USE?'],
  ['in-us', 'Did you mean MCG_IN_USE?'],
  ['MCG_USED', `: value 'MCG_USED' is invalid for argument 'code'. The codes are ${CODES[0]?.[0]}, `],
])('rejects the unknown code %s, and suggests a similar one or names all', async (code, sentence) => {
  expect(await runProgram(['explain', code])).toEqual(usageError(sentence));
});
