import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../client/exit.ts';
import { createTextFormat } from '../client/output/text-format.ts';
import { runDemo } from './run-demo.ts';
import { StoryPrinter } from './story-printer.ts';

export function createDemoCommand(): Command {
  const command = new Command('demo')
    .description('Replay two installs that deadlock without the guard or restore, on a cluster in memory.')
    .action(async () => {
      const output = command.configureOutput();
      if (await runDemo(new StoryPrinter(createTextFormat(), (text) => output.writeOut?.(text)))) return;
      const expected = 'the install should be stuck without the guard and without the restore, and complete with them';
      throw new CliError(`unexpected result: ${expected}; please report it`, EXIT_CODE.failure);
    });
  return command;
}
