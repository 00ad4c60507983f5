import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { log } from '../e2e/support/runner.ts';
import type { Environment } from './environment.ts';
import { formatTable, type Table } from './table.ts';

/** The result of a bench or the soak. */
export interface Report {
  /** Of its file. */
  readonly name: string;
  readonly question: string;
  readonly command: string;
  readonly environment: Environment;
  readonly seconds: number;
  readonly tables: readonly Table[];
}

/** Prints a report and stores it in a folder, as Markdown. */
export function writeReport(report: Report, folder?: string): void {
  const markdown = formatReport(report);
  process.stdout.write(`\n${markdown}\n`);
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${report.name}.md`);
  writeFileSync(file, markdown);
  log(`Written to ${file}`);
}

function formatReport({ name, question, command, environment, seconds, tables }: Report): string {
  return [
    `# ${name}`,
    '',
    question,
    '',
    `\`${command}\`, ${formatEnvironment(environment)}; ${seconds} s.`,
    ...tables.flatMap(formatTable),
    '',
  ].join('\n');
}

function formatEnvironment({ date, commit, kubernetes, node, ...machine }: Environment): string {
  const { cores, cpu, memoryGiB, load } = machine;
  const versions = `commit ${commit}: Kubernetes ${kubernetes}, Node ${node}`;
  return `${date.slice(0, 10)}, ${versions}, ${cores} cores (${cpu}), ${memoryGiB} GiB, load before ${load}`;
}
