import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { terminalPicture } from '../../build/terminal-picture.ts';
import { runProgram } from '../cli/run-program.ts';

const PICTURE = path.join(import.meta.dirname, '..', '..', 'docs', 'images', 'demo.svg');

/** The text of a picture, without its empty lines. */
function textOf(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>(?<line>.*)<\/text>/g)].map(({ groups }) =>
    (groups?.['line'] ?? '')
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

test('the picture in README.md shows what the demo prints today; `npm run picture` draws it again', async () => {
  const { stdout } = await runProgram(['demo']);
  const shown = textOf(readFileSync(PICTURE, 'utf8')).slice(1);
  const printed = stdout.split('\n').filter((line) => line !== '');
  expect(shown.length).toBeGreaterThan(30);
  const from = printed.indexOf(shown[0] ?? '');
  expect(printed.slice(from, from + shown.length)).toEqual(shown);
});

test('styles last until they are ended, beyond the end of a line, and text stays text', () => {
  const picture = terminalPicture('\u001B[31m\u001B[1ma<b\nc\u001B[22m&d\u001B[39me');
  expect([...picture.matchAll(/<text [^>]*>(?<line>.*)<\/text>/g)].map(({ groups }) => groups?.['line'])).toEqual([
    '<tspan class="red bold">a&lt;b</tspan>',
    '<tspan class="red bold">c</tspan><tspan class="red">&amp;d</tspan>e',
  ]);
});
