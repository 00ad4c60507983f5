import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createConfigLabels, LABEL_FORMS } from '../../src/cli/check/config-labels.ts';
import { formatAge, formatElapsed } from '../../src/cli/elapsed.ts';
import { truncate, measureTable, formatTable } from '../../src/cli/table.ts';

const PAGE = { width: 80, colours: false };
const cells = (...texts: string[]) => texts.map((text) => ({ text }));

test('as wide as its contents, numbers right, nothing behind the last word of a line', () => {
  const columns = [{ head: 'NAME' }, { head: 'SIZE', right: true }, { head: 'STATE' }];
  expect(formatTable(PAGE, columns, [cells('control-0', '7', 'Done'), cells('a', '12345', '')])).toBe(
    'NAME        SIZE  STATE\ncontrol-0      7  Done\na          12345\n',
  );
});

test('where it is too wide, columns that may be cut are, the widest first, no further than they may', () => {
  const columns = [{ head: 'A', min: 4 }, { head: 'B', min: 4 }, { head: 'C' }];
  const row = cells(`${'a'.repeat(15)}${'z'.repeat(15)}`, 'b'.repeat(12), 'c'.repeat(10));
  expect(formatTable({ ...PAGE, width: 40 }, columns, [row]).split('\n')[1]).toBe(
    `aaaaaaa…zzzzzz  ${'b'.repeat(12)}  ${'c'.repeat(10)}`,
  );
  expect(formatTable({ ...PAGE, width: 10 }, columns, [row])).toBe(`A     B     C\naa…z  bb…b  ${'c'.repeat(10)}\n`);
});

test('colours change nothing about where a cell stands', () => {
  const columns = [{ head: 'A' }, { head: 'B', right: true }];
  const rows = [
    [
      { text: 'red', style: 'red' as const },
      { text: '1', style: 'green' as const },
    ],
    cells('longer', '22'),
  ];
  const painted = formatTable({ ...PAGE, colours: true }, columns, rows);
  expect(painted).toContain('\u001B[31mred\u001B[39m');
  expect(stripVTControlCharacters(painted)).toBe(formatTable(PAGE, columns, rows));
});

test('no line is wider than the page as long as the columns allow it', () => {
  const text = fc.string({ unit: 'grapheme-ascii', maxLength: 60 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(text, text, text), { maxLength: 8 }),
      fc.integer({ min: 20, max: 120 }),
      (rows, width) => {
        const columns = ['A', 'B', 'C'].map((head) => ({ head, min: 4 }));
        const lines = formatTable(
          { width, colours: false },
          columns,
          rows.map((row) => cells(...row)),
        ).split('\n');
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
        const wide = measureTable(
          columns,
          rows.map((row) => cells(...row)),
        );
        if (wide <= width) expect(lines.join('')).not.toContain('…');
      },
    ),
  );
});

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['äöüß', 3, 'äö…'],
  ['abc', 0, '…'],
])('%s in %i characters is %s', (text, width, shown) => {
  expect(truncate(text, width)).toBe(shown);
});

const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test('a config is written whole, with eight digits of its hash, or without its prefix', () => {
  expect(LABEL_FORMS.map((form) => createConfigLabels([WORKER], form)(WORKER))).toEqual([
    WORKER,
    'rendered-worker-25a1be6c',
    'worker-25a1be6c',
  ]);
});

test('what has another form stays as it is: a typo must be seen', () => {
  const typo = WORKER.replace('rendered', 'render');
  expect(createConfigLabels([WORKER, typo], 'shortest')(typo)).toBe(typo);
  expect(createConfigLabels(['99-worker-ssh'], 'short')('99-worker-ssh')).toBe('99-worker-ssh');
  expect(createConfigLabels(['a\u001B[31m\nb'], 'whole')('a\u001B[31m\nb')).toBe('a [31m b');
});

test('different configs never look the same', () => {
  const twin = WORKER.replace('ae911', 'ae912');
  expect([WORKER, twin].map(createConfigLabels([WORKER, twin], 'shortest'))).toEqual([
    `worker-${WORKER.slice(-32)}`,
    `worker-${twin.slice(-32)}`,
  ]);
  const early = WORKER.replace('1264c', '1265c');
  expect([WORKER, early].map(createConfigLabels([WORKER, early], 'shortest'))).toEqual([
    'worker-25a1be6c1264',
    'worker-25a1be6c1265',
  ]);
});

test('times and ages as kubectl writes them', () => {
  expect([0, 9_900, 125_000, 3_605_000].map(formatElapsed)).toEqual(['0s', '9s', '2m05s', '1h00m05s']);
  expect([0, 119_000, 120_000, 7_199_000, 7_200_000, 172_800_000].map(formatAge)).toEqual([
    '0s',
    '119s',
    '2m',
    '119m',
    '2h',
    '2d',
  ]);
});
