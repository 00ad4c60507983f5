import { toPrintableLine } from '../../common/printable-text.ts';

/** Between two commands on one line. */
export const PIPE = Symbol('|');

/** A word as the program gets it. {@link CommandFormatter} quotes it. */
export type Word = string | typeof PIPE;

/** A command for a person. Only a {@link CommandFormatter} can print it. */
export class ShellCommand {
  /** A terminal shows each inner list on its own line. The program is mostly `oc` or `machineconfig-guard`. */
  readonly lines: readonly (readonly Word[])[];
  /** Of the kubeconfig. Undefined for that of the run. */
  readonly context: string | undefined;

  constructor(lines: readonly (readonly Word[])[], context?: string) {
    this.lines = lines;
    this.context = context;
  }
}

/** What a person can do next. In JSON, the command is one line. */
export interface Advice {
  /** A clause without a period and without a command, which would have no flags and no quotes. */
  readonly text: string;
  readonly command: ShellCommand | null;
}

/** @param lines of the command */
export function advise(text: string, ...lines: readonly (readonly Word[])[]): Advice {
  return { text, command: lines.length === 0 ? null : new ShellCommand(lines) };
}

/** For credentials that are missing or rejected. */
export const LOGIN_ADVICE = advise('log in with', ['oc', 'login']);

/** The client library gives the service account of a pod this context, which no other program knows. */
const POD_CONTEXT = 'inClusterContext';

/** The advice for one cluster of several. */
export function inContext(advice: Advice, context: string): Advice {
  const { command } = advice;
  return command === null || context === POD_CONTEXT
    ? advice
    : { ...advice, command: new ShellCommand(command.lines, context) };
}

/** The flags of this run that a printed command repeats, because it must not act on another cluster. */
export interface RepeatedFlags {
  readonly context?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

const OWN_PROGRAM = 'machineconfig-guard';
const PLAIN_WORD = /^[-\w./:@%+=,]+$/;

/** Quotes the words of commands and adds the flags that select the cluster. */
export class CommandFormatter {
  /** The name of this program, such as `machineconfig-guard` or `oc mcguard`. */
  readonly program: string;
  readonly #flags: RepeatedFlags;

  constructor(program: string, flags: RepeatedFlags) {
    this.program = program;
    this.#flags = flags;
  }

  toLine(command: ShellCommand): string {
    return this.#formatLines(command).join(' ');
  }

  /** One line if it fits, else the lines of the command, each but the last with a backslash. */
  toLines(command: ShellCommand, width: number): string[] {
    const line = this.toLine(command);
    return line.length <= width ? [line] : this.#formatLines(command).join(' \\\n    ').split('\n');
  }

  /** `text: command`. */
  toClause({ text, command }: Advice): string {
    return command === null ? text : `${text}: ${this.toLine(command)}`;
  }

  #formatLines({ lines: [first = [], ...others], context }: ShellCommand): string[] {
    const end = first.indexOf(PIPE);
    const commands = end < 0 ? [first] : [first.slice(0, end), first.slice(end + 1)];
    const line = commands.map((words) => this.#addFlags(words.map(toShellWord), context).join(' ')).join(' | ');
    return [line, ...others.map((words) => words.map(toShellWord).join(' '))];
  }

  #addFlags([program = '', subcommand = '', ...words]: readonly string[], ofCommand?: string): readonly string[] {
    const { context = ofCommand, kubeconfig } = this.#flags;
    const flags = toFlag('--kubeconfig', kubeconfig);
    // A login creates a context.
    if (subcommand !== 'login') flags.push(...toFlag('--context', context));
    if (program === 'oc') return ['oc', ...flags, subcommand, ...words];
    if (program !== OWN_PROGRAM) return [program, subcommand, ...words];
    // It reads no cluster.
    if (subcommand === 'explain') return [this.program, subcommand, ...words];
    return [this.program, subcommand, ...flags, ...words];
  }
}

function toFlag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, toShellWord(value)];
}

/** Quotes a word for a POSIX shell if it needs quotes. */
function toShellWord(word: Word): string {
  const text = toPrintableLine(String(word), Number.POSITIVE_INFINITY);
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
