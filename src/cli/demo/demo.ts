import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../exit.ts';

export function createDemoCommand(): Command {
  return (
    new Command('demo')
      .description('Watch the guard save an install that dead-locks without it, on a cluster in memory.')
      // The flags of the real demo get the same answer.
      .allowUnknownOption()
      .argument('[flags...]')
      .usage('')
      .addHelpText(
        'after',
        `
The demo runs from a checkout: npm ci && npm run demo

Example:
  machineconfig-guard demo`,
      )
      .action(() => {
        throw new CliError('the demo runs from a checkout of the repository: npm ci && npm run demo', EXIT_CODE.no);
      })
  );
}
