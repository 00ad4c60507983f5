import type { Command } from 'commander';
import { formatDuration } from './format-duration.ts';

export function printReport(command: Command, output: string, report: object, text: string): void {
  command.configureOutput().writeOut?.(output === 'json' ? `${JSON.stringify(report, null, 2)}\n` : text);
}

export function formatProgressLine(text: string, elapsedMs: number): string {
  return `${formatDuration(elapsedMs).padStart(7)}  ${text}\n`;
}
