import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

/** Commander's own help command knows only the commands of the first level. */
export function createHelpCommand(): Command {
  const command = new Command('help')
    .description('Print the help of a command.')
    .argument('[command]', 'a command, such as check')
    .action((name?: string) => {
      const root = command.parent ?? command;
      const target = name === undefined ? root : root.commands.find((candidate) => candidate.name() === name);
      if (target === undefined) throw new CliError(`unknown command '${name}'`, EXIT_CODE.usage);
      target.help();
    });
  return command;
}
