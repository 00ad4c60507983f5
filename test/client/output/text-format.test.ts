import { expect, test, vi } from 'vitest';
import { toPrintableLine } from '../../../src/common/printable-text.ts';
import { useTerminal } from '../../cli/terminal.ts';
import { formatAge, formatObjectNames, formatShortName } from '../../../src/client/output/short-forms.ts';
import {
  applyStyle,
  createFormat,
  getErrorWidth,
  wrapBeside,
  wrapText,
} from '../../../src/client/output/text-format.ts';

test('a text has 40 to 120 columns, and only a terminal shows styles', () => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
  expect(createFormat()).toMatchObject({ width: 120, columns: undefined });
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('text');
  const widths = [39, 40, 120, 121].map((columns) => {
    useTerminal(columns);
    useTerminal(columns, 'stderr');
    return [createFormat().width, getErrorWidth()];
  });
  expect(widths).toEqual([
    [40, 40],
    [40, 40],
    [120, 120],
    [120, 120],
  ]);
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('\u001B[31mtext\u001B[39m');
});

test('breaks a text at spaces, keeps a long word whole, and indents further lines below the first one', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
  const text = wrapBeside('mode  ', 'Enforce, because no MachineConfigGuard exists', 48);
  expect(text).toBe('mode  Enforce, because no MachineConfigGuard\n      exists');
  const label = `${'context'.repeat(10)}  `;
  expect(wrapBeside(label, 'the API server hangs', 80)).toBe(`${label}the API server hangs`);
  const narrow = wrapBeside('label', `${'a'.repeat(20)} ${'b'.repeat(19)} ${'c'.repeat(20)} ${'d'.repeat(20)}`, 20);
  expect(narrow.split('\n').map(({ length }) => length)).toEqual([5 + 20, 5 + 19, 5 + 20, 5 + 20]);
});

test('truncates an untrusted line after 1,000 characters', () => {
  const lines = [1_000, 1_001].map((length) => toPrintableLine('x'.repeat(length)));
  expect(lines).toEqual(['x'.repeat(1_000), `${'x'.repeat(997)}...`]);
});

test('names the first 3 objects of each kind', () => {
  const objects = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ kind, name: `${kind[0]}${index}` }));
  expect(formatObjectNames([...objects('Node', 4), ...objects('MachineConfigPool', 3)])).toBe(
    'nodes N0, N1, N2 and 1 more and pools M0, M1 and M2',
  );
});

test('shortens an age, and in a terminal the name of a rendered config', () => {
  const ages = [-1, 119_999, 120_000, 7_199_000, 7_200_000, 172_799_000, 172_800_000, Number.NaN].map(formatAge);
  expect(ages).toEqual(['0s', '119s', '2m', '119m', '2h', '47h', '2d', '<unknown>']);
  const [terminal, pipe] = [80, undefined].map((columns) => ({ width: 80, hasColors: false, columns }));
  const name = 'rendered-worker-25a1be6c1264c64551ae911d23717173';
  const formats = [terminal, pipe, { ...terminal, isWide: true }].flatMap((format) => format ?? []);
  expect(formats.map((format) => formatShortName({ width: 80, hasColors: false, ...format }, name))).toEqual([
    'worker-25a1be6c',
    name,
    name,
  ]);
});
