import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { LEFT_OUT } from '../../build/demo-excerpt.ts';
import { terminalPicture } from '../../build/terminal-picture.ts';
import { runCommand } from '../../src/cli/program.ts';
import { createDemoCommand } from '../../src/demo/demo-command.ts';

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
  let stdout = '';
  const terminal = { stdout: (text: string) => void (stdout += text), stderr: () => {}, env: {} };
  await runCommand(createDemoCommand(), ['--speed', '2000'], terminal);
  const [command, ...shown] = textOf(readFileSync(PICTURE, 'utf8'));
  expect(command).toBe('$ npm run demo');
  expect(shown.length).toBeGreaterThan(20);
  const printed = stdout.split('\n').filter((line) => line !== '');
  let at = printed.indexOf(shown[0] ?? '');
  let isLeftOut = false;
  for (const line of shown) {
    if (line !== LEFT_OUT) {
      // Without the sign that something was left out, each line follows the one before it.
      const found = isLeftOut ? printed.indexOf(line, at) : printed[at] === line ? at : -1;
      expect({ line, printed: found !== -1 }).toEqual({ line, printed: true });
      at = found + 1;
    }
    isLeftOut = line === LEFT_OUT;
  }
  // What it is about is in it.
  expect(shown.join(' ')).toMatch(/Without the guard.*Degraded.*With the guard.*MCG_IN_USE.*complete/);
});

test('styles last until they are ended, beyond the end of a line, and text stays text', () => {
  const picture = terminalPicture('\u001B[31m\u001B[1ma<b\nc\u001B[22m&d\u001B[39me');
  expect([...picture.matchAll(/<text [^>]*>(?<line>.*)<\/text>/g)].map(({ groups }) => groups?.['line'])).toEqual([
    '<tspan class="red bold">a&lt;b</tspan>',
    '<tspan class="red bold">c</tspan><tspan class="red">&amp;d</tspan>e',
  ]);
});
