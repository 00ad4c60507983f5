import { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgressPrinter } from '../../../src/client/output/report-output.ts';

test('prints progress with the elapsed time, and repeats no line', () => {
  let text = '';
  const command = new Command().configureOutput({ writeErr: (line) => void (text += line) });
  const print = createProgressPrinter(command);
  print('waiting', 400);
  print('waiting', 2_500);
  print('unreachable; retrying', 65_000);
  print('waiting', 130_000);
  expect(text).toBe('     0s  waiting\n    65s  unreachable; retrying\n     2m  waiting\n');
});
