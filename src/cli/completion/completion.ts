import { Argument, Command } from 'commander';
import { COMPLETION_SCRIPTS } from './scripts.ts';

export function createCompletionCommand(): Command {
  const command = new Command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'a shell').choices(Object.keys(COMPLETION_SCRIPTS)))
    .addHelpText(
      'after',
      `
Completes commands and flags, and needs no cluster. For the plugin of kubectl,
link the program also as kubectl_complete-mcguard on the PATH.
Exit codes: 0 printed, 2 wrong usage.

Examples:
  source <(machineconfig-guard completion bash)
  source <(machineconfig-guard completion zsh)
  machineconfig-guard completion fish | source`,
    )
    .action((shell: keyof typeof COMPLETION_SCRIPTS) => {
      command.configureOutput().writeOut?.(COMPLETION_SCRIPTS[shell]);
    });
  return command;
}
