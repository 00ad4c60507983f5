import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../exit.ts';

/** Commander's own help command knows only the commands of the first level. */
export function createHelpCommand(): Command {
  const command = new Command('help')
    .description('Print the help of a command.')
    .argument('[command...]', 'a command, such as check or certs rotate')
    .action((names: readonly string[]) => {
      let target = command.parent ?? command;
      for (const name of names) {
        const child = target.commands.find((candidate) => candidate.name() === name);
        if (child === undefined) throw new CliError(`unknown command '${name}'`, EXIT_CODE.usage);
        target = child;
      }
      target.help();
    });
  return command;
}
