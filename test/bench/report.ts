import type { Table } from './bench.ts';
import type { Environment } from './environment.ts';

/** The outcome of one bench, as it is written to results/NAME.json. */
export interface Report {
  readonly bench: string;
  readonly question: string;
  readonly command: string;
  readonly environment: Environment;
  readonly seconds: number;
  readonly tables: readonly Table[];
}

/** The same for a person. */
export function asMarkdown({ bench, question, command, environment: e, seconds, tables }: Report): string {
  const lines = [
    `# ${bench}`,
    '',
    question,
    '',
    `\`${command}\`, ${e.date.slice(0, 10)}, commit ${e.commit}: Kubernetes ${e.kubernetes}, Node ${e.node}, ${e.cores} cores ` +
      `(${e.cpu}), ${e.memoryGiB} GiB, load before ${e.load}; ${Math.round(seconds)} s.`,
    ...tables.flatMap((table) => ['', `## ${table.title}`, '', ...asMarkdownTable(table)]),
    '',
  ];
  return lines.join('\n');
}

/** Its rows and notes, without the title. */
export function asMarkdownTable({ columns, rows, notes }: Table): string[] {
  return [
    `| ${columns.map(({ heading }) => heading).join(' | ')} |`,
    `|${columns.map(({ key }) => (rows.some((row) => typeof row[key] === 'number') ? '---:' : '---')).join('|')}|`,
    ...rows.map((row) => `| ${columns.map(({ key, digits }) => cell(row[key], digits)).join(' | ')} |`),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
  ];
}

function cell(value: string | number | null | undefined, digits = 0): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value.replaceAll('|', '\\|');
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
