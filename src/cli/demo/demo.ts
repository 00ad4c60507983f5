import { Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';

/** Hidden, because the program does not contain the demo. It accepts the flags of `npm run demo`. */
export function createDemoCommand(): Command {
  return new Command('demo')
    .description('Print how to run the demo, which needs a checkout of the repository.')
    .allowUnknownOption()
    .argument('[flags...]')
    .action(() => {
      const message = 'the demo needs a checkout of the repository: npm ci && npm run demo';
      throw new CliError(message, EXIT_CODE.failure);
    });
}
