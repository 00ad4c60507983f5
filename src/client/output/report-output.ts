import type { Command } from 'commander';
import { stringify } from 'yaml';

/** Prints the report as JSON or YAML, or else the text. */
export function printReport(command: Command, output: string, report: object, text: string): void {
  command.configureOutput().writeOut?.(formatReport(output, report, text));
}

function formatReport(output: string, report: object, text: string): string {
  if (output === 'json') return `${JSON.stringify(report, null, 2)}\n`;
  // Aliases for repeated objects are valid YAML, but hard to read.
  return output === 'yaml' ? stringify(report, { aliasDuplicateObjects: false, lineWidth: 0 }) : text;
}
