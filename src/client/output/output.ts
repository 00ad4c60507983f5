import type { Command } from 'commander';
import { stringify } from 'yaml';
import { toPrintableLine } from '../../common/printable-text.ts';
import { ShellCommand } from '../../diagnosis/shell-command.ts';
import { type Advice, advise, CommandFormatter, type RepeatedFlags } from './advice.ts';
import { formatAge } from './short-forms.ts';
import { createFormat, getErrorWidth, type ReportFormat, wrapBeside } from './text-format.ts';

/** Control, format and unassigned characters and line separators, but no line feed and no tab. */
const UNSAFE = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu;
/** A terminal's bold, red and magenta, and their ends. */
const STYLE = /^(?:0|1|22|31|35|39)m/;

export class Output {
  readonly format: ReportFormat;
  readonly #command: Command;
  readonly #kind: string;
  #lastProgress = '';

  constructor(command: Command, flags: RepeatedFlags & { readonly output?: string }) {
    this.#command = command;
    this.#kind = flags.output ?? 'text';
    const commands = new CommandFormatter(findRoot(command).name(), flags);
    this.format = { ...createFormat(this.#kind === 'wide'), commands };
  }

  /** @param text for a person. It begins with the server of the report, because a fleet has several */
  printReport(report: object, text: string): void {
    const { server } = report as { readonly server?: string };
    const title = server === undefined || this.#kind === 'name' ? '' : `Cluster: ${server}\n`;
    this.print(this.#formatData(report) ?? title + text);
  }

  #formatData(report: object): string | undefined {
    if (this.#kind !== 'json' && this.#kind !== 'yaml') return undefined;
    const json = formatJson(report, this.format.commands);
    if (this.#kind === 'json') return json;
    // Only quoted strings can have escapes. Aliases for repeated objects are valid YAML, but hard to read.
    const strings = { defaultKeyType: 'PLAIN', defaultStringType: 'QUOTE_DOUBLE' } as const;
    return escapeUnsafe(stringify(JSON.parse(json), { ...strings, aliasDuplicateObjects: false, lineWidth: 0 }));
  }

  print(text: string): void {
    this.#command.configureOutput().writeOut?.(text);
  }

  printNote(text: string): void {
    this.#command.configureOutput().writeErr?.(`${text}\n`);
  }

  /** What a user should know about a run that succeeds. */
  printMessage(message: string | Advice): void {
    const { text, command } = typeof message === 'string' ? advise(message) : message;
    this.#printWrapped('', advise(`${this.format.commands.program}: ${text}`, command ?? undefined));
  }

  readonly printProgress = (text: string, elapsedMs: number, advice?: Advice): void => {
    const progress = advise(advice === undefined ? text : `${text}; ${advice.text}`, advice?.command ?? undefined);
    const clause = this.format.commands.toClause(progress);
    if (clause === this.#lastProgress) return;
    this.#lastProgress = clause;
    this.#printWrapped(`${formatAge(elapsedMs).padStart(7)}  `, progress);
  };

  /** One line for a script. A terminal gets wrapped text, and the command on its own line. */
  #printWrapped(label: string, { text, command }: Advice): void {
    const { commands } = this.format;
    const width = getErrorWidth();
    if (width === undefined) {
      const clause = commands.toClause({ text, command });
      return this.printNote(label + toPrintableLine(clause, Number.POSITIVE_INFINITY));
    }
    this.printNote(wrapBeside(label, command === null ? text : `${text}:`, width));
    if (command !== null) this.printNote(`${label.replaceAll(/./g, ' ') || '  '}${commands.toLine(command)}`);
  }
}

function findRoot(command: Command): Command {
  return command.parent === null ? command : findRoot(command.parent);
}

export function formatJson(report: object, commands: CommandFormatter): string {
  const replacer = (_key: unknown, value: unknown): unknown =>
    value instanceof ShellCommand ? commands.toLine(value) : value;
  return `${escapeUnsafe(JSON.stringify(report, replacer, 2))}\n`;
}

/** Removes what a terminal could interpret. Keeps line feeds, tabs and the styles of this program. */
export function removeUnsafe(text: string): string {
  return text.replaceAll(UNSAFE, (character, index: number) =>
    character === '\u001B' && text[index + 1] === '[' && STYLE.test(text.slice(index + 2, index + 5)) ? character : '',
  );
}

/** Escapes what a terminal could interpret, within strings of JSON or quoted strings of YAML. */
export function escapeUnsafe(text: string): string {
  return text.replaceAll(UNSAFE, (character) =>
    // The two formats escape characters of two code units differently.
    character.length > 1 ? '\uFFFD' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
