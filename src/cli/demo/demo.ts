import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../exit.ts';

export function createDemoCommand(): Command {
  return (
    new Command('demo')
      .description('Replay an install that deadlocks without the guard, on a cluster in memory.')
      // The real demo has flags.
      .allowUnknownOption()
      .argument('[flags...]')
      .usage('')
      .addHelpText(
        'after',
        `
The demo needs a checkout of the repository and no cluster. Exit code: 1.

Example:
  npm ci && npm run demo`,
      )
      .action(() => {
        throw new CliError('the demo needs a checkout of the repository: npm ci && npm run demo', EXIT_CODE.no);
      })
  );
}
