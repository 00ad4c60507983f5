import { styleText } from 'node:util';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { advise } from '../../../src/client/output/advice.ts';
import { shell } from '../../../src/diagnosis/shell-command.ts';
import { useTerminal } from '../../cli/terminal.ts';
import { escapeUnsafe, Output, removeUnsafe } from '../../../src/client/output/output.ts';

function createOutput(output: string) {
  const printed = { text: '' };
  const command = new Command('check').configureOutput({
    writeOut: (text) => void (printed.text += text),
    writeErr: (text) => void (printed.text += text),
  });
  new Command('machineconfig-guard').addCommand(command);
  return { output: new Output(command, { output, context: 'lab' }), printed };
}

test('prints progress with the elapsed time, and repeats no line', () => {
  const { output, printed } = createOutput('text');
  output.printProgress('waiting', 400);
  output.printProgress('waiting', 2_500);
  output.printProgress('unreachable; retrying', 65_000);
  output.printProgress('waiting', 130_000);
  expect(printed.text).toBe('     0s  waiting\n    65s  unreachable; retrying\n     2m  waiting\n');
});

test('wraps progress for a terminal, and keeps its command whole', () => {
  useTerminal(80, 'stderr');
  const { output, printed } = createOutput('text');
  const names = Array.from({ length: 12 }, (_, index) => `worker-${index}`).join(' ');
  output.printProgress(
    `waiting for ${names}`,
    65_000,
    advise('look at them', shell`oc get node ${names.split(' ')} -o wide`),
  );
  expect(printed.text.split('\n')).toEqual([
    '    65s  waiting for worker-0 worker-1 worker-2 worker-3 worker-4 worker-5',
    '         worker-6 worker-7 worker-8 worker-9 worker-10 worker-11; look at them:',
    `         oc --context lab get node ${names} -o wide`,
    '',
  ]);
});

test.each(['json', 'yaml'])('prints a command of a report in %s as one line', (kind) => {
  const { output, printed } = createOutput(kind);
  output.printReport({ next: advise('look at', shell`oc get node -o wide`) }, '');
  expect(parse(printed.text)).toEqual({ next: { text: 'look at', command: 'oc --context lab get node -o wide' } });
});

test.each([
  ['text', 'Cluster: api:6443\na text\n'],
  ['wide', 'Cluster: api:6443\na text\n'],
  ['name', 'a text\n'],
  ['json', '{\n  "server": "api:6443"\n}\n'],
])('begins a report in %s with the cluster that was asked, if a person reads it', (kind, text) => {
  const { output, printed } = createOutput(kind);
  output.printReport({ server: 'api:6443' }, 'a text\n');
  expect(printed.text).toBe(text);
});

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
