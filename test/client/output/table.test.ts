import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { formatTable } from '../../../src/client/output/table.ts';

const toCells = (...texts: string[]) => texts.map((text) => ({ text }));

test('pads cells to their visible width, and no line ends with spaces', () => {
  const columns = [{ header: 'NAME' }, { header: 'SIZE', isRightAligned: true }, { header: 'STATE' }];
  const rows = [toCells('control-0', '7', 'Done'), [{ text: 'a', style: 'red' as const }, ...toCells('12345', '')]];
  const table = formatTable({ width: 80, hasColors: true }, columns, rows);
  expect(table).toContain('\u001B[31ma\u001B[39m');
  expect(stripVTControlCharacters(table)).toBe('NAME        SIZE  STATE\ncontrol-0      7  Done\na          12345\n');
});
