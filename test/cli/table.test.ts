import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTable, measureTable } from '../../src/cli/table.ts';

const FORMAT = { width: 80, hasColors: false };
const toCells = (...texts: string[]) => texts.map((text) => ({ text }));

test('a table is as wide as its contents, colors do not count, and no line ends with spaces', () => {
  const columns = [{ head: 'NAME' }, { head: 'SIZE', isRightAligned: true }, { head: 'STATE' }];
  const rows = [toCells('control-0', '7', 'Done'), [{ text: 'a', style: 'red' as const }, ...toCells('12345', '')]];
  const table = formatTable({ ...FORMAT, hasColors: true }, columns, rows);
  expect(table).toContain('\u001B[31ma\u001B[39m');
  expect(stripVTControlCharacters(table)).toBe('NAME        SIZE  STATE\ncontrol-0      7  Done\na          12345\n');
});

test('a table that is too wide cuts its widest columns down to their minimum', () => {
  const columns = [{ head: 'A', minWidth: 4 }, { head: 'B', minWidth: 4 }, { head: 'C' }];
  const row = toCells(`${'a'.repeat(15)}${'z'.repeat(15)}`, 'b'.repeat(12), 'c'.repeat(10));
  expect(formatTable({ ...FORMAT, width: 40 }, columns, [row]).split('\n')[1]).toBe(
    `aaaaaaa…zzzzzz  ${'b'.repeat(12)}  ${'c'.repeat(10)}`,
  );
  const narrow = `A     B     C\naa…z  bb…b  ${'c'.repeat(10)}\n`;
  expect(formatTable({ ...FORMAT, width: 10 }, columns, [row])).toBe(narrow);
});

test('no line of any table is wider than the format, and a table that fits is not cut', () => {
  const text = fc.string({ unit: 'grapheme-ascii', maxLength: 60 });
  const anyRows = fc.array(fc.tuple(text, text, text), { maxLength: 8 });
  const columns = ['A', 'B', 'C'].map((head) => ({ head, minWidth: 4 }));
  fc.assert(
    fc.property(anyRows, fc.integer({ min: 20, max: 120 }), (texts, width) => {
      const rows = texts.map((row) => toCells(...row));
      const table = formatTable({ ...FORMAT, width }, columns, rows);
      for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
      if (measureTable(columns, rows) <= width) expect(table).not.toContain('…');
    }),
  );
});
