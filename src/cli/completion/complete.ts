import type { Command, Option } from 'commander';

/** The name of the command that prints candidates, as in kubectl. */
export const COMPLETE_COMMAND = '__complete';

/** A candidate, and its description if it has one. */
type Candidate = readonly [text: string, description?: string];

const FLAG_WITH_VALUE = /^--[^=]+=/;

/**
 * Formats the commands, flags and choices that fit the last word, in the format of cobra.
 *
 * @param words the words after the name of the program, up to the cursor
 */
export function formatCompletion(root: Command, words: readonly string[]): string {
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const [command = root] = before.flatMap((name) => root.commands.filter((child) => child.name() === name));
  const flag = command.options.find(
    ({ long, short, required }) => required && [long, short].includes(before.at(-1) ?? ''),
  );
  const acceptsFile = flag === undefined ? FLAG_WITH_VALUE.test(word) : flag.argChoices === undefined;
  const lines = listCandidates(root, command, flag, word)
    .filter(([text]) => text.startsWith(word))
    .map((candidate) => candidate.join('\t'));
  return [...lines, acceptsFile ? ':0' : ':4', ''].join('\n');
}

/** @param flag the flag whose value is next */
function listCandidates(root: Command, command: Command, flag: Option | undefined, word: string): readonly Candidate[] {
  if (flag !== undefined) return (flag.argChoices ?? []).map((choice) => [choice]);
  if (word.startsWith('-')) {
    const flags = command.options.map(({ long = '', description }): Candidate => [long, description]);
    return [...flags, ['--help', 'display help for command']];
  }
  if (command !== root && command.name() !== 'help') return [];
  const commands = root.createHelp().visibleCommands(root);
  return commands.map((child) => [child.name(), child.description()]);
}
