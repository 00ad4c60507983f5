import { expect, test } from 'vitest';
import {
  applyStyle,
  createTableFormat,
  createTextFormat,
  wrapBeside,
  wrapText,
} from '../../../src/client/output/text-format.ts';

test('is as wide as the terminal, from 80 to 100 columns', () => {
  const widths = [undefined, 40, 90, 200].map((columns) => {
    return createTextFormat(columns === undefined ? {} : { isTTY: true, columns }, {}).width;
  });
  expect(widths).toEqual([80, 80, 90, 100]);
});

test('a table has up to 120 columns, also in a pipe', () => {
  const streams = [{}, { isTTY: true, columns: 40 }, { isTTY: true, columns: 110 }, { isTTY: true, columns: 200 }];
  expect(streams.map((stream) => createTableFormat(stream).width)).toEqual([120, 80, 110, 120]);
});

test.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
  [{}, {}, false],
  [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('with the stream %j and the environment %j, hasColors is %s', (stream, env, hasColors) => {
  const format = createTextFormat(stream, env);
  expect(format.hasColors).toBe(hasColors);
  expect(applyStyle(format, 'red', 'text')).toBe(hasColors ? '\u001B[31mtext\u001B[39m' : 'text');
});

test('breaks a text at spaces and keeps a long word whole', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
  expect(wrapText('see the pages', 12)).toEqual(['see the', 'pages']);
});

test('indents further lines below the first one', () => {
  expect(wrapBeside('mode  ', 'Enforce, because no MachineConfigGuard exists', 48)).toBe(
    'mode  Enforce, because no MachineConfigGuard\n      exists',
  );
});

test('keeps room for a text beside a long label', () => {
  const label = `${'context'.repeat(10)}  `;
  expect(wrapBeside(label, 'the API server is unreachable', 80)).toBe(`${label}the API server is unreachable`);
});
