import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatReport, formatSummary, readReports } from './report.ts';
import { createGoalTable } from './table.ts';

const PAGE = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

test.each(readReports())(
  'formats the result of $bench as the stored Markdown, which docs/performance.md links',
  (report) => {
    const markdown = readFileSync(new URL(`results/${report.bench}.md`, import.meta.url), 'utf8');
    expect(formatReport(report)).toBe(markdown);
    expect(PAGE).toContain(`[${report.bench}.md](../test/bench/results/${report.bench}.md)`);
  },
);

test('docs/performance.md shows the goals of the stored results (npm run bench -- --summary)', () => {
  expect(formatSummary()).toContain('| yes |');
  expect(PAGE.split('-- --summary -->\n')[1]?.split('<!-- end -->')[0]).toBe(formatSummary());
});

test('a goal is reached up to its limit, and not if nothing was measured', () => {
  const goals = [0.2, 3, 3.1, Number.NaN].map((found) => ({ what: 'figure', found, atMost: 3 }));
  expect(createGoalTable('Goals', goals).rows.map(({ reached }) => reached)).toEqual([
    'yes',
    'yes',
    'no',
    'no',
  ]);
});
