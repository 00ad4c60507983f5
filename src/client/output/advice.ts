import { PIPE, shell, type ShellCommand } from '../../diagnosis/shell-command.ts';

export interface Advice {
  /** What a person can do next: a clause without a period and without a command, which would have no flags. */
  readonly text: string;
  /** Null if only a person can do it, or if a name in it could change the command. */
  readonly command: ShellCommand | null;
}

export function advise(text: string, line?: ShellCommand): Advice {
  return { text, command: line ?? null };
}

/** The command that renders a profile for the cluster, and applies it. Undefined if the name could change it. */
export function toApplyCommand(profile: string): ShellCommand | undefined {
  return shell`machineconfig-guard render --from-cluster --profile ${profile} --out - | oc apply -f -`;
}

export const LOGIN_ADVICE = advise('log in with', shell`oc login`);

/** The client library gives the service account of a pod this context, which no other program knows. */
const POD_CONTEXT = 'inClusterContext';

export function inContext(advice: Advice, context: string): Advice {
  return context === POD_CONTEXT ? advice : { ...advice, command: advice.command?.inContext(context) ?? null };
}

/** The flags of this run that a printed command repeats, because it must not act on another cluster. */
export interface RepeatedFlags {
  readonly context?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

const OWN_PROGRAM = 'machineconfig-guard';
/** Of this program. They have no flags for a cluster. */
const READ_NO_CLUSTER: ReadonlySet<string> = new Set(['certs', 'explain']);
/** Some shells expand a word that begins with `=`. */
const PLAIN_WORD = /^[-\w./:@%+,][-\w./:@%+=,]*$/;
/** A terminal could interpret them, or a person would copy something else. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

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
    const lines = commands.map((own) => {
      const texts = own.map((word) => toShellWord(String(word)));
      return this.#addFlags(texts, context).join(' ');
    });
    return lines.join(' | ');
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
    const isManifests = subcommand === 'check' && words[0] === 'manifests';
    if (READ_NO_CLUSTER.has(subcommand) || isManifests) return [this.program, subcommand, ...words];
    return [this.program, subcommand, ...flags, ...words];
  }
}

function toFlag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, toShellWord(value)];
}

/**
 * Quotes a word, for every POSIX shell. Only a path or a context of the user can have unprintable characters. A command
 * with a question mark in their place finds no such file or context.
 */
function toShellWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word;
  return `'${word.replaceAll(UNPRINTABLE, '?').replaceAll("'", String.raw`'\''`)}'`;
}
