import { Command, InvalidArgumentError, Option } from 'commander';
import { CliError, EXIT_CODE } from '../cli/exit.ts';
import { createTextFormat } from '../cli/text-format.ts';
import { formatConclusion, formatEvent, formatIntro, formatRunTitle } from './format-story.ts';
import { runDemo } from './run-demo.ts';

interface DemoFlags {
  readonly output: 'text' | 'json';
  readonly speed: number;
}

/** The demo takes ten seconds, and every line can be read as it appears. */
const DEFAULT_SPEED = 120;
const MAX_SPEED = 10_000;
/** The simulated duration of both runs. */
const STORY_SECONDS = 1_180;
/** Keys, two API servers and the guard take this long to start. */
const START_SECONDS = 2;

export function createDemoCommand(): Command {
  const command = new Command('demo')
    .description('Watch the guard save an install that dead-locks without it, on a cluster in memory.')
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .option('--speed <factor>', 'how many times as fast as the real install', parseSpeed, DEFAULT_SPEED)
    .addHelpText(
      'after',
      `
Needs no cluster and leaves nothing behind: everything listens on 127.0.0.1 and ends with the command. The guard in it
is the real one. Exit code 0 if the run without it ends in a dead-lock and the one with it in a complete install, 1
otherwise.

Examples:
  npm run demo
  npm run --silent demo -- --output json --speed 1000`,
    )
    .action(async ({ output, speed }: DemoFlags) => {
      const format = createTextFormat(process.stdout, process.env);
      const seconds = Math.ceil(STORY_SECONDS / speed) + START_SECONDS;
      const isText = output === 'text';
      const printText = (text: string): void => {
        if (isText) print(command, text);
      };
      printText(formatIntro(format, seconds));
      const report = await runDemo({
        speed,
        onRun: (isGuarded) => printText(formatRunTitle(format, isGuarded)),
        onEvent: (event) => printText(formatEvent(format, event)),
      });
      print(command, isText ? formatConclusion(format, report) : `${JSON.stringify(report, null, 2)}\n`);
      if (!report.asExpected) throw new CliError('', EXIT_CODE.no);
    });
  return command;
}

function print(command: Command, text: string): void {
  command.configureOutput().writeOut?.(text);
}

function parseSpeed(value: string): number {
  const factor = Number(value);
  if (!/^\d+$/.test(value) || factor < 1 || factor > MAX_SPEED) {
    throw new InvalidArgumentError(`It is a whole number from 1 to ${MAX_SPEED}.`);
  }
  return factor;
}
