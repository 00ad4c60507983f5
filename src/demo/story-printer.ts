import { applyStyle, type Style, type TextFormat, wrapBeside } from '../client/output/text-format.ts';

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

  readonly printEvent = (actor: string, message: string): void => {
    this.print(message, chooseStyle(actor, message), actor.padEnd(10));
  };

  /** A command line of the guard, as a person runs it. */
  printCommand(command: string): void {
    this.print(`\n$ machineconfig-guard ${command}\n`, 'bold', '    ');
  }

  /** @param formatOutput formats the output of a command for a terminal of this width */
  printOutput(formatOutput: (format: TextFormat & { readonly columns: number }) => string): void {
    const width = this.#format.width - OUTPUT_MARK.length;
    const lines = formatOutput({ ...this.#format, width, columns: width })
      .trimEnd()
      .split('\n');
    this.#write(lines.map((line) => `${`${OUTPUT_MARK}${line}`.trimEnd()}\n`).join(''));
  }
}

function chooseStyle(actor: string, message: string): Style | undefined {
  if (actor === 'restore' || message.includes('no longer Degraded') || message.startsWith('complete')) return 'bold';
  if (message.includes('Degraded') || message.startsWith('stuck')) return 'red';
  return actor === 'clean-up' ? 'magenta' : undefined;
}
