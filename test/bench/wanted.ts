import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { isGoalTable } from './goals.ts';
import { asMarkdownTable, type Report } from './report.ts';

const RESULTS = fileURLToPath(new URL('results', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const BLOCK = /(?<=<!-- npm run bench -- --summary -->\n)[^]*(?=<!-- end -->)/;

/** What was wanted of every bench and what it found, from the reports in the repository, as it stands in docs/performance.md. */
export function summaryOfResults(): string {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));
  const reports = files.sort().map((file) => JSON.parse(readFileSync(join(RESULTS, file), 'utf8')) as Report);
  return reports.flatMap((report) => sectionOf(report)).join('\n');
}

/** What docs/performance.md says of it. */
export function summaryInPage(): string | undefined {
  return BLOCK.exec(readFileSync(PAGE, 'utf8'))?.[0];
}

/** Writes the one into the other. */
export function writeSummary(): void {
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(BLOCK, () => summaryOfResults()),
  );
}

function sectionOf({ bench, tables, environment }: Report): string[] {
  return tables.flatMap((table) => {
    if (!isGoalTable(table)) return [];
    const title = `**[${table.title}](../test/bench/results/${bench}.md)** (${environment.date.slice(0, 10)})`;
    return [title, '', ...asMarkdownTable(table), ''];
  });
}
