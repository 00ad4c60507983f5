import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { log } from '../e2e/support/runner.ts';
import type { Environment } from './environment.ts';
import { createColumns, formatTable, isGoalTable, type Row, type Table } from './table.ts';

const RESULTS = new URL('results/', import.meta.url);
const PAGE = new URL('../../docs/performance.md', import.meta.url);
const SUMMARY = /(?<=<!-- npm run bench -- --summary -->\n)[^]*(?=<!-- end -->)/;

const SUMMARY_COLUMNS = [
  ...createColumns({ goal: 'goal', what: 'worst case' }),
  ...createColumns({ found: 'found', atMost: 'at most' }, 2),
  ...createColumns({ reached: 'reached' }),
];

/** The result of a bench or the soak. */
export interface Report {
  readonly bench: string;
  readonly question: string;
  readonly command: string;
  readonly environment: Environment;
  readonly seconds: number;
  readonly tables: readonly Table[];
}

/** The goals of a bench, as results/NAME.json holds them. */
export interface StoredGoals {
  readonly bench: string;
  readonly tables: readonly Pick<Table, 'title' | 'rows'>[];
}

/** The report as Markdown. */
function formatReport({ bench, question, command, environment, seconds, tables }: Report): string {
  return [
    `# ${bench}`,
    '',
    question,
    '',
    `\`${command}\`, ${formatEnvironment(environment)}; ${seconds} s.`,
    ...tables.flatMap((table) => ['', `## ${table.title}`, '', ...formatTable(table)]),
    '',
  ].join('\n');
}

/** Prints a report and stores it in a folder as Markdown, and its goals, if it has any, as JSON. */
export function writeReport(report: Report, folder?: string): void {
  const markdown = formatReport(report);
  process.stdout.write(`\n${markdown}\n`);
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, report.bench);
  writeFileSync(`${file}.md`, markdown);
  log(`Written to ${file}.md`);
  const tables = report.tables.filter(isGoalTable).map(({ title, rows }) => ({ title, rows }));
  if (tables.length === 0) return;
  const goals: StoredGoals = { bench: report.bench, tables };
  writeFileSync(`${file}.json`, `${JSON.stringify(goals, null, 1)}\n`);
}

function formatEnvironment({ date, commit, kubernetes, node, ...machine }: Environment): string {
  const { cores, cpu, memoryGiB, load } = machine;
  const versions = `commit ${commit}: Kubernetes ${kubernetes}, Node ${node}`;
  return `${date.slice(0, 10)}, ${versions}, ${cores} cores (${cpu}), ${memoryGiB} GiB, load before ${load}`;
}

/** The goals in test/bench/results. */
export function readGoals(): readonly StoredGoals[] {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => JSON.parse(readFileSync(new URL(file, RESULTS), 'utf8')) as StoredGoals);
}

/** The goals of all stored reports as Markdown, for docs/performance.md: the worst case of each. */
export function formatSummary(): string {
  const rows = readGoals().flatMap(({ bench, tables }) =>
    tables.flatMap(({ title, rows: cases }) => {
      const goal = `[${title}](../test/bench/results/${bench}.md)`;
      return findWorstCases(cases).map((row) => ({ ...row, goal }));
    }),
  );
  return `${formatTable({ title: '', columns: SUMMARY_COLUMNS, rows, notes: [] }).join('\n')}\n`;
}

/** The largest figure for each limit. A figure that was not measured is the largest. */
function findWorstCases(cases: readonly Row[]): readonly Row[] {
  const byLimit = new Map<unknown, Row>();
  for (const row of cases) {
    const worst = byLimit.get(row['atMost']);
    if (worst === undefined || getFound(row) > getFound(worst)) byLimit.set(row['atMost'], row);
  }
  return [...byLimit.values()];
}

function getFound({ found }: Row): number {
  return typeof found === 'number' ? found : Infinity;
}

/** Replaces the summary in docs/performance.md. */
export function writeSummary(): void {
  const page = readFileSync(PAGE, 'utf8').replace(SUMMARY, () => formatSummary());
  writeFileSync(PAGE, page);
}
