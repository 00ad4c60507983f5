import { expect, test } from 'vitest';
import { readFile, readTableRows } from './pages.ts';

/** `FILE`: TITLE, in which … stands for any text. */
const PROOF = /^`(?<file>[^`]+)`: (?<title>.+)$/;

test('docs/internals/testing.md names for each promise a test that exists, and how it was seen to fail', () => {
  const rows = readTableRows('docs/internals/testing.md').filter(([, proof = '']) => PROOF.test(proof));
  expect(rows.length).toBeGreaterThan(55);
  const wrong = rows.filter(([, proof = '', failure = '']) => {
    const { file, title = '' } = PROOF.exec(proof)?.groups ?? {};
    if (file === undefined || failure === '') return true;
    const source = readFile(`test/${file}.test.ts`).replaceAll("\\'", "'");
    return !createPattern(title).test(source);
  });
  expect(wrong).toEqual([]);
});

/** Matches a literal in quotes. */
function createPattern(title: string): RegExp {
  const parts = title.split('…').map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return new RegExp(`(['"\`])${parts.join('.*')}\\1`);
}
