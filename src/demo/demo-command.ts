import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../client/exit.ts';
import { createNumberParser } from '../client/option-parsers.ts';
import { createTextFormat } from '../client/output/text-format.ts';
import { runDemo } from './run-demo.ts';
import { StoryPrinter } from './story-printer.ts';

/** Every line can be read as it appears. */
const DEFAULT_SPEED = 150;
const MAX_SPEED = 10_000;
const parseSpeed = createNumberParser(1, MAX_SPEED, `Must be a whole number from 1 to ${MAX_SPEED}.`);

export function createDemoCommand(): Command {
  const command = new Command('demo')
    .description('Replay two installs that deadlock without the guard or restore, on a cluster in memory.')
    .option('--speed <factor>', 'speed compared to the real install', parseSpeed, DEFAULT_SPEED)
    .action(async ({ speed }: { readonly speed: number }) => {
      const format = createTextFormat();
      const printer = new StoryPrinter(format, (text) => command.configureOutput().writeOut?.(text));
      if (await runDemo(printer, speed)) return;
      const expected = 'the install should be stuck without the guard and without the restore, and complete with them';
      throw new CliError(`unexpected result: ${expected}; please report it`, EXIT_CODE.failure);
    });
  return command;
}
