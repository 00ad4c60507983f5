import type { Command, Option } from 'commander';

/** The name of the command that prints candidates, as in kubectl. */
export const COMPLETE_COMMAND = '__complete';

interface Candidate {
  readonly text: string;
  readonly description?: string;
}

/** Where the cursor is. */
interface Position {
  readonly command: Command;
  /** The flag whose value is next. */
  readonly flag: Option | undefined;
}

const HELP_FLAG: Candidate = { text: '--help', description: 'display help for command' };
const FLAG_WITH_VALUE = /^--[^=]+=/;

/**
 * Formats the commands, flags and choices that fit the last word, in the format of cobra.
 *
 * @param words the words after the name of the program, up to the cursor
 */
export function formatCompletion(root: Command, words: readonly string[]): string {
  const word = words.at(-1) ?? '';
  const position = locate(root, words.slice(0, -1));
  const lines = listCandidates(root, position, word)
    .filter(({ text }) => text.startsWith(word))
    .map(({ text, description }) => (description === undefined ? text : `${text}\t${description}`));
  return [...lines, acceptsFile(position, word) ? ':0' : ':4', ''].join('\n');
}

function locate(root: Command, words: readonly string[]): Position {
  let command = root;
  let flag: Option | undefined;
  for (const word of words) {
    if (flag !== undefined) flag = undefined;
    else if (word.startsWith('-')) flag = findFlagWithValue(command, word);
    else if (command === root) command = root.commands.find((child) => child.name() === word) ?? command;
  }
  return { command, flag };
}

function findFlagWithValue(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short, required }) => required && (word === long || word === short));
}

function listCandidates(root: Command, { command, flag }: Position, word: string): readonly Candidate[] {
  if (flag !== undefined) return (flag.argChoices ?? []).map((text) => ({ text }));
  if (word.startsWith('-')) return [...command.options.flatMap(toFlag), HELP_FLAG];
  if (command !== root && command.name() !== 'help') return [];
  return root
    .createHelp()
    .visibleCommands(root)
    .map((child) => ({ text: child.name(), description: child.description() }));
}

function toFlag({ long, description, hidden }: Option): Candidate[] {
  return long === undefined || hidden ? [] : [{ text: long, description }];
}

function acceptsFile({ flag }: Position, word: string): boolean {
  return flag === undefined ? FLAG_WITH_VALUE.test(word) : flag.argChoices === undefined;
}
