import { expect, test, vi } from 'vitest';
import { toPrintableLine } from '../../../src/common/printable-text.ts';
import { useTerminal } from '../../cli/terminal.ts';
import { formatAge, formatShortName } from '../../../src/client/output/short-forms.ts';
import { applyStyle, createFormat, wrapBeside, wrapText } from '../../../src/client/output/text-format.ts';

test('a text has 40 to 120 columns, and only a terminal shows styles', () => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
  expect(createFormat()).toMatchObject({ width: 120, columns: undefined });
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('text');
  const widths = [40, 90, 200].map((columns) => {
    useTerminal(columns);
    return createFormat().width;
  });
  expect(widths).toEqual([40, 90, 120]);
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('\u001B[31mtext\u001B[39m');
});

test('breaks a text at spaces, keeps a long word whole, and indents further lines below the first one', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
  const text = wrapBeside('mode  ', 'Enforce, because no MachineConfigGuard exists', 48);
  expect(text).toBe('mode  Enforce, because no MachineConfigGuard\n      exists');
  const label = `${'context'.repeat(10)}  `;
  expect(wrapBeside(label, 'the API server is unreachable', 80)).toBe(`${label}the API server is unreachable`);
});

test('truncates an untrusted line after 1,000 characters', () => {
  const lines = [1_000, 1_001].map((length) => toPrintableLine('x'.repeat(length)));
  expect(lines).toEqual(['x'.repeat(1_000), `${'x'.repeat(997)}...`]);
});

test('shortens an age, and in a terminal the name of a rendered config', () => {
  const ages = [-1, 119_000, 7_199_000, 7_200_000, 172_800_000, Number.NaN].map(formatAge);
  expect(ages).toEqual(['0s', '119s', '119m', '2h', '2d', '<unknown>']);
  const [terminal, pipe] = [80, undefined].map((columns) => ({ width: 80, hasColors: false, columns }));
  const name = 'rendered-worker-25a1be6c1264c64551ae911d23717173';
  const formats = [terminal, pipe, { ...terminal, isWide: true }].flatMap((format) => format ?? []);
  expect(formats.map((format) => formatShortName({ width: 80, hasColors: false, ...format }, name))).toEqual([
    'worker-25a1be6c',
    name,
    name,
  ]);
});
