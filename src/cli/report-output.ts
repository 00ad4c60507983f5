import type { Command } from 'commander';

/** Writes a report to the command's stdout: as JSON if `output` says so, else as text. */
export function printReport(command: Command, output: string, report: object, text: string): void {
  command.configureOutput().writeOut?.(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : text);
}
