import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { formatSummary, readGoals } from './report.ts';
import { createGoalTable, formatTable } from './table.ts';

const PAGE = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

test.each(readGoals())('the Markdown of $bench has the stored goals, and docs/performance.md links it', (goals) => {
  const file = `results/${goals.bench}.md`;
  const markdown = readFileSync(new URL(file, import.meta.url), 'utf8');
  for (const { title, rows } of goals.tables) {
    const { columns } = createGoalTable('', []);
    expect(markdown).toContain(`## ${title}\n\n${formatTable({ title, columns, rows, notes: [] }).join('\n')}\n`);
  }
  expect(PAGE).toContain(`](../test/bench/${file})`);
});

test('docs/performance.md shows the goals of the stored results (npm run bench -- --summary)', () => {
  expect(formatSummary()).toContain('| yes |');
  expect(PAGE.split('-- --summary -->\n')[1]?.split('<!-- end -->')[0]).toBe(formatSummary());
});

test('a goal is reached up to its limit, and not if nothing was measured', () => {
  const goals = [0.2, 3, 3.1, Number.NaN].map((found) => ({ what: 'figure', found, atMost: 3 }));
  const { rows } = createGoalTable('Goals', goals);
  expect(rows.map(({ reached }) => reached)).toEqual(['yes', 'yes', 'no', 'no']);
});
