import { isObjectName } from '../kube/api-object.ts';

/** Stands between two commands. */
export const PIPE = Symbol('|');
/** Stands for the names that {@link ShellCommand.withTargets} fills in. */
export const TARGETS = Symbol('targets');

/** A word as a program gets it. `CommandFormatter` quotes it. */
type Word = string | typeof PIPE | typeof TARGETS;

/** A text of the user, or one whose syntax was checked. Only {@link verbatim} makes one. */
export class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | typeof TARGETS | Verbatim | ShellCommand | undefined | readonly Value[];

/** Stands for a value in the line of {@link shell}. */
const VALUE = '\0';

/** A value of {@link shell} that is no name: a constant, a text of the user, a patch, or a checked argument. */
export function verbatim(text: string): Verbatim {
  return new Verbatim(text);
}

/** A command for a person to run. Only {@link shell} makes one. */
export class ShellCommand {
  readonly words: readonly Word[];
  /** Of the kubeconfig. Undefined for that of the run. */
  readonly context: string | undefined;

  private constructor(words: readonly Word[], context?: string) {
    this.words = words;
    this.context = context;
  }

  /** See {@link shell}. */
  static build(texts: TemplateStringsArray, values: readonly Value[]): ShellCommand | undefined {
    const lists = values.map(listWords);
    if (lists.includes(undefined)) return undefined;
    const remaining = lists.values();
    const next = (): readonly Word[] => remaining.next().value ?? [];

    const words = texts.join(VALUE).split(/\s+/).filter(Boolean);
    return new ShellCommand(
      words.flatMap((word): readonly Word[] => {
        if (word === VALUE) return next();
        if (word === '|') return [PIPE];
        return [word.replaceAll(VALUE, () => next().map(String).join(''))];
      }),
    );
  }

  inContext(context: string): ShellCommand {
    return new ShellCommand(this.words, context);
  }

  /** The command for these objects. Undefined if no object can have one of the names. */
  withTargets(names: readonly string[]): ShellCommand | undefined {
    if (!names.every(isObjectName)) return undefined;
    const words = this.words.flatMap((word): readonly Word[] => (word === TARGETS ? names : [word]));
    return new ShellCommand(words, this.context);
  }
}

/**
 * Builds a command from a line with values, such as `oc get node ${name}`. Spaces and line breaks of the line separate
 * its words. A value is a word or a part of one. A list, or a command, is several words.
 * @returns undefined if a value is neither {@link verbatim} nor the name of an object: it could be read as a flag
 */
export function shell(texts: TemplateStringsArray, ...values: readonly Value[]): ShellCommand | undefined {
  return ShellCommand.build(texts, values);
}

/** Undefined if a name in the value is none: an annotation can contain any text, such as `--confirm`. */
function listWords(value: Value): readonly Word[] | undefined {
  if (value === undefined || typeof value === 'symbol') return value && [value];
  if (typeof value === 'string') return isObjectName(value) ? [value] : undefined;
  if (value instanceof Verbatim) return [value.text];
  if (value instanceof ShellCommand) return value.words;
  const lists = value.map(listWords);
  return lists.includes(undefined) ? undefined : lists.flatMap((words) => words ?? []);
}
