import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatReport, formatSummary, readReports, readSummary } from './report.ts';
import { createGoalTable } from './table.ts';

test.each(readReports())('formats results/$bench.json as the stored Markdown', (report) => {
  const markdown = readFileSync(new URL(`results/${report.bench}.md`, import.meta.url), 'utf8');
  expect(formatReport(report)).toBe(markdown);
});

test('docs/performance.md shows the goals of the stored results (npm run bench -- --summary)', () => {
  expect(readSummary()).toContain('| yes |');
  expect(readSummary()).toBe(formatSummary());
});

test('a goal is reached up to its limit, and not if nothing was measured', () => {
  const goals = [0.2, 3, 3.1, Number.NaN].map((found) => ({ what: 'figure', found, atMost: 3 }));
  expect(createGoalTable('Goals', goals).rows.map(({ reached }) => reached)).toEqual(['yes', 'yes', 'no', 'no']);
});
