import { Command } from 'commander';

/** Commander's own help command suggests no name. */
export function createHelpCommand(): Command {
  const command = new Command('help')
    .description('Print the help of a command.')
    .argument('[command]', 'a command, such as check')
    .action(async (name = '') => {
      const root = command.parent ?? command;
      const target = name === '' ? root : root.commands.find((candidate) => candidate.name() === name);
      if (target !== undefined) target.help();
      // Fails as an unknown command, with the nearest name.
      await root.parseAsync([name], { from: 'user' });
    });
  return command;
}
