import type { Command } from 'commander';

export function printReport(command: Command, output: string, report: object, text: string): void {
  command.configureOutput().writeOut?.(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : text);
}
