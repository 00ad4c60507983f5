import { Command, Option } from 'commander';
import { CliError, EXIT_CODE } from '../client/exit.ts';
import { createNumberParser } from '../client/option-parsers.ts';
import { CommandFormatter } from '../client/output/advice.ts';
import { formatJson } from '../client/output/output.ts';
import { createTextFormat } from '../client/output/text-format.ts';
import {
  formatCheck,
  formatCommand,
  formatConclusion,
  formatEvent,
  formatIntro,
  formatStoryTitle,
} from './format-story.ts';
import { runDemo } from './run-demo.ts';

interface DemoFlags {
  readonly output: 'text' | 'json';
  readonly speed: number;
}

/** Every line can be read as it appears. */
const DEFAULT_SPEED = 150;
const MAX_SPEED = 10_000;
const parseSpeed = createNumberParser(1, MAX_SPEED, `Must be a whole number from 1 to ${MAX_SPEED}.`);

export function createDemoCommand(): Command {
  const command = new Command('demo')
    .description('Replay two installs that deadlock without the guard or restore, on a cluster in memory.')
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
    .option('--speed <factor>', 'speed compared to the real install', parseSpeed, DEFAULT_SPEED)
    .addHelpText(
      'after',
      `
The demo runs the real guard and a simulated cluster on 127.0.0.1. Both stop
with the command.
Permissions: none, it does not access a cluster.
Exit codes: 0 every install is stuck without the guard or the restore, and
completes with them, 1 another result, 2 wrong usage.

Examples:
  npm run demo
  npm run --silent demo -- --output json --speed 1000`,
    )
    .action(async ({ output, speed }: DemoFlags) => {
      const format = createTextFormat(process.stdout, process.env);
      const printText = (text: string): void => {
        if (output === 'text') command.configureOutput().writeOut?.(text);
      };
      printText(formatIntro(format));
      const report = await runDemo({
        speed,
        onStory: (story) => printText(formatStoryTitle(format, story)),
        onCheck: (report) => printText(formatCheck(format, report)),
        onRestore: (command) => printText(formatCommand(format, command)),
        onEvent: (event) => printText(formatEvent(format, event)),
      });
      printText(formatConclusion(format, report));
      const commands = new CommandFormatter('machineconfig-guard', {});
      if (output === 'json') command.configureOutput().writeOut?.(formatJson(report, commands));
      if (!report.asExpected) throw new CliError('', EXIT_CODE.failure);
    });
  return command;
}
