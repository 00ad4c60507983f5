import { toPrintableLine } from '../../common/printable-text.ts';

export const PIPE = Symbol('|');

/** A word as the program gets it. {@link CommandFormatter} quotes it. */
export type Word = string | typeof PIPE;

export class ShellCommand {
  readonly words: readonly Word[];
  /** Of the kubeconfig. Undefined for that of the run. */
  readonly context: string | undefined;

  constructor(words: readonly Word[], context?: string) {
    this.words = words;
    this.context = context;
  }
}

export interface Advice {
  /** What a person can do next: a clause without a period and without a command, which would have no flags. */
  readonly text: string;
  readonly command: ShellCommand | null;
}

/** @param words a constant line of plain words, or a list if a word comes from outside */
export function advise(text: string, words?: string | readonly Word[]): Advice {
  const split = (line: string) => line.split(' ').map((word): Word => (word === '|' ? PIPE : word));
  const list = typeof words === 'string' ? split(words) : words;
  return { text, command: list === undefined ? null : new ShellCommand(list) };
}

export const LOGIN_ADVICE = advise('log in with', 'oc login');

/** The client library gives the service account of a pod this context, which no other program knows. */
const POD_CONTEXT = 'inClusterContext';

export function inContext(advice: Advice, context: string): Advice {
  const { command } = advice;
  return command === null || context === POD_CONTEXT
    ? advice
    : { ...advice, command: new ShellCommand(command.words, context) };
}

/** The flags of this run that a printed command repeats, because it must not act on another cluster. */
export interface RepeatedFlags {
  readonly context?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

const OWN_PROGRAM = 'machineconfig-guard';
const PLAIN_WORD = /^[-\w./:@%+=,]+$/;

export class CommandFormatter {
  readonly program: string;
  readonly #flags: RepeatedFlags;

  constructor(program: string, flags: RepeatedFlags) {
    this.program = program;
    this.#flags = flags;
  }

  toLine({ words, context }: ShellCommand): string {
    const end = words.indexOf(PIPE);
    const commands = end < 0 ? [words] : [words.slice(0, end), words.slice(end + 1)];
    return commands.map((own) => this.#addFlags(own.map(toShellWord), context).join(' ')).join(' | ');
  }

  toClause({ text, command }: Advice): string {
    return command === null ? text : `${text}: ${this.toLine(command)}`;
  }

  #addFlags([program = '', subcommand = '', ...words]: readonly string[], ofCommand?: string): readonly string[] {
    const { context = ofCommand, kubeconfig } = this.#flags;
    const flags = toFlag('--kubeconfig', kubeconfig);
    // A login creates a context.
    if (subcommand !== 'login') flags.push(...toFlag('--context', context));
    if (program === 'oc') return ['oc', ...flags, subcommand, ...words];
    if (program !== OWN_PROGRAM) return [program, subcommand, ...words];
    const readsNoCluster = subcommand === 'explain' || (subcommand === 'check' && words[0] === 'manifests');
    if (readsNoCluster) return [this.program, subcommand, ...words];
    return [this.program, subcommand, ...flags, ...words];
  }
}

function toFlag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, toShellWord(value)];
}

function toShellWord(word: Word): string {
  const text = toPrintableLine(String(word), Number.POSITIVE_INFINITY);
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
