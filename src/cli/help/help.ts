import { Command } from 'commander';
import { toPrintableLine } from '../../common/printable-text.ts';
import { findNearestName } from '../../status/nearest-name.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

const MAX_NAME_LENGTH = 100;

/** Commander's own help command knows only the commands of the first level. */
export function createHelpCommand(): Command {
  const command = new Command('help')
    .description('Print the help of a command.')
    .argument('[command]', 'a command, such as check')
    .action((name?: string) => {
      const root = command.parent ?? command;
      const target = name === undefined ? root : root.commands.find((candidate) => candidate.name() === name);
      if (target === undefined) throw new CliError(describeUnknown(name ?? '', root), EXIT_CODE.usage);
      target.help();
    });
  return command;
}

function describeUnknown(name: string, { commands }: Command): string {
  const nearest = findNearestName(
    name,
    commands.map((command) => command.name()),
  );
  const suggestion = nearest === undefined ? '' : ` (Did you mean ${nearest}?)`;
  return `unknown command '${toPrintableLine(name, MAX_NAME_LENGTH)}'${suggestion}`;
}
