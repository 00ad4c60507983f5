import type { CheckReport } from '../cli/check/check-cluster.ts';
import { formatCheckReport } from '../cli/check/format-report.ts';
import { CommandFormatter } from '../client/output/advice.ts';
import { applyStyle, type Style, type TextFormat, wrapBeside } from '../client/output/text-format.ts';
import type { SimulationEvent } from './operator/simulation.ts';

/** Marks what a command prints. */
const OUTPUT_MARK = '  │ ';
/** `check` shortens names in its tables to the same length. */
const RENDERED_NAME = /(?<=rendered-[\w.-]+-[0-9a-f]{8})[0-9a-f]{24}(?![0-9a-f])/g;

export class StoryPrinter {
  readonly #format: TextFormat;
  readonly #write: (text: string) => void;

  constructor(format: TextFormat, write: (text: string) => void) {
    this.#format = format;
    this.#write = write;
  }

  /** Wraps each line of the text beside the label. */
  print(text: string, style?: Style, label = ''): void {
    const lines = text.replaceAll(RENDERED_NAME, '').split('\n');
    const wrapped = lines.map((line) => (line === '' ? '' : wrapBeside(label, line, this.#format.width)));
    this.#write(`${applyStyle(this.#format, style, wrapped.join('\n'))}\n`);
  }

  printEvent({ t, actor, message, denial }: SimulationEvent): void {
    const time = `T+${Math.floor(t / 60)}m${String(t % 60).padStart(2, '0')}s`;
    this.print(message, chooseStyle(message, actor), `${time.padEnd(9)}${actor.padEnd(10)}`);
    if (denial === undefined) return;
    this.print(`\nError from server (${denial.reason}): ${denial.message}\n`, 'magenta', '    ');
  }

  /** A command line of the guard, as a person runs it. */
  printCommand(command: string): void {
    this.print(`\n$ machineconfig-guard ${command}\n`, 'bold', '    ');
  }

  /** What `check` prints, with its first repair. */
  printCheck(report: CheckReport): void {
    const width = this.#format.width - OUTPUT_MARK.length;
    const commands = new CommandFormatter('machineconfig-guard', {});
    const shortReport = { ...report, repairs: report.repairs.slice(0, 1) };
    const text = formatCheckReport({ ...this.#format, width, columns: width, commands }, shortReport);
    for (const line of text.trimEnd().split('\n')) this.#write(`${`${OUTPUT_MARK}${line}`.trimEnd()}\n`);
  }
}

function chooseStyle(message: string, actor: string): Style | undefined {
  const isRepaired = actor === 'restore' || message.includes('no longer Degraded');
  if (isRepaired || message.startsWith('complete')) return 'bold';
  if (message.includes('Degraded') || message.startsWith('stuck')) return 'red';
  return actor === 'clean-up' ? 'magenta' : undefined;
}
