import { styleText } from 'node:util';
import { expect, test } from 'vitest';
import { escapeUnsafe, removeUnsafe } from '../../../src/client/output/safe-text.ts';

test('removes what a terminal could interpret, and keeps lines and own styles', () => {
  const styled = styleText(['red', 'bold'], 'Not fine', { validateStream: false });
  expect(removeUnsafe(`${styled}\n\tPool \u00FC`)).toBe(`${styled}\n\tPool \u00FC`);
  expect(removeUnsafe('a\u001B]52;c;eA==\u0007b\u001B[2Jc\u001B[32md\r\u202E\u2028\u009Be\u007F')).toBe(
    'a]52;c;eA==b[2Jc[32mde',
  );
});

test('escapes what a terminal could interpret, so that JSON keeps the value', () => {
  const value = 'a\u009B31m\u202E\u2028\u007F\n\u{1F600}';
  const text = escapeUnsafe(JSON.stringify(value));
  expect(text).not.toMatch(/[\p{C}\p{Zl}]/u);
  expect(JSON.parse(text)).toBe(value);
});
