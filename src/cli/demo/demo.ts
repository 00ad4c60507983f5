import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

export function createDemoCommand(): Command {
  // `npm run demo` accepts flags, so this stub accepts them too.
  return new Command('demo')
    .description('Replay two installs that deadlock without the guard or restore, on a cluster in memory.')
    .allowUnknownOption()
    .argument('[flags...]')
    .usage('')
    .addHelpText(
      'after',
      `
This binary does not contain the demo. It prints how to run it in a checkout of
the repository. Exit code: 1.

Example:
  npm ci && npm run demo`,
    )
    .action(() => {
      const message = 'the demo needs a checkout of the repository: npm ci && npm run demo';
      throw new CliError(message, EXIT_CODE.failure);
    });
}
