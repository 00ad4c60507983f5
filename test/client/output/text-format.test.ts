import { expect, test, vi } from 'vitest';
import { useTerminal } from '../../cli/terminal.ts';
import { applyStyle, createFormat, wrapBeside, wrapText } from '../../../src/client/output/text-format.ts';

test.each([
  [undefined, 120],
  [40, 80],
  [90, 90],
  [200, 120],
])('with %s columns, a text has %i', (columns, width) => {
  if (columns !== undefined) useTerminal(columns);
  expect(createFormat()).toMatchObject({ width, columns });
});

test('a terminal shows styles, a pipe does not', () => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('text');
  useTerminal(80);
  expect(applyStyle(createFormat(), 'red', 'text')).toBe('\u001B[31mtext\u001B[39m');
});

test('breaks a text at spaces, keeps a long word whole, and indents further lines below the first one', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
  expect(wrapText('see the pages', 12)).toEqual(['see the', 'pages']);
  const text = wrapBeside('mode  ', 'Enforce, because no MachineConfigGuard exists', 48);
  expect(text).toBe('mode  Enforce, because no MachineConfigGuard\n      exists');
  const label = `${'context'.repeat(10)}  `;
  expect(wrapBeside(label, 'the API server is unreachable', 80)).toBe(`${label}the API server is unreachable`);
});
