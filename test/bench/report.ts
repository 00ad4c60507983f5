import { type Bar, barChart } from '../support/chart/bar-chart.ts';
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
    ...tables.flatMap((table) => [
      '',
      `## ${table.title}`,
      '',
      ...asMarkdownTable(table),
      ...(table.bars === undefined ? [] : ['', `![${table.title}](${chartFile(bench, tables, table)})`]),
    ]),
    '',
  ];
  return lines.join('\n');
}

/** The pictures of a report: file names, beside the report itself, and their SVG. */
export function charts({ bench, tables }: Report): readonly (readonly [file: string, svg: string])[] {
  return tables.flatMap((table) => {
    const { bars, title, rows } = table;
    if (bars === undefined) return [];
    const groups = new Map<string, Bar[]>();
    for (const row of rows) {
      const heading = bars.groups.map((key) => groupName(table, key, row[key])).join(', ');
      const reach = bars.reach === undefined ? {} : { reach: Number(row[bars.reach]) };
      const bar = { label: String(row[bars.label]), value: Number(row[bars.value]), ...reach };
      groups.set(heading, [...(groups.get(heading) ?? []), bar]);
    }
    const drawn = barChart({
      title,
      x: { label: bars.axis, ...(bars.log === undefined ? {} : { log: bars.log }) },
      groups: [...groups].map(([heading, all]) => ({ heading, bars: all })),
    });
    return [[chartFile(bench, tables, table), drawn] as const];
  });
}

/** Of several tables each has its own picture. */
function chartFile(bench: string, tables: readonly Table[], table: Table): string {
  const drawn = tables.filter(({ bars }) => bars !== undefined);
  return drawn.length === 1 ? `${bench}.svg` : `${bench}-${drawn.indexOf(table) + 1}.svg`;
}

/** "2,000 nodes", "one node has the config". */
function groupName({ columns }: Table, key: string, value: string | number | null | undefined): string {
  const column = columns.find((one) => one.key === key);
  return typeof value === 'number' ? `${cell(value, column?.digits)} ${column?.heading ?? ''}`.trimEnd() : cell(value);
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
