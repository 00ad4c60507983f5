import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatReport, formatSummary, readReports } from './report.ts';
import { createGoalTable } from './table.ts';

const PAGE = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

test.each(readReports())(
  'formats $bench as the stored Markdown, which docs/performance.md links',
  (report) => {
    const file = `results/${report.bench}.md`;
    expect(formatReport(report)).toBe(readFileSync(new URL(file, import.meta.url), 'utf8'));
    expect(PAGE).toContain(`](../test/bench/${file})`);
  },
);

test('docs/performance.md shows the goals of the stored results (npm run bench -- --summary)', () => {
  expect(formatSummary()).toContain('| yes |');
  expect(PAGE.split('-- --summary -->\n')[1]?.split('<!-- end -->')[0]).toBe(formatSummary());
});

test('a goal is reached up to its limit, and not if nothing was measured', () => {
  const goals = [0.2, 3, 3.1, Number.NaN].map((found) => ({ what: 'figure', found, atMost: 3 }));
  const { rows } = createGoalTable('Goals', goals);
  expect(rows.map(({ reached }) => reached)).toEqual(['yes', 'yes', 'no', 'no']);
});
