import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FAULTS } from '../e2e/chaos/faults.ts';
import { anchorOf, rowsIn, withTable } from '../e2e/chaos/support/page.ts';

const PAGE = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'failure-modes.md'), 'utf8');

test('every fault that is tried has its row, in their order, and no row is left of one that is not', () => {
  const wanted = FAULTS.map(({ title, seen }) => ({ fault: `[${title}](#${anchorOf(title)})`, seen }));
  expect(rowsIn(PAGE).map(({ cells }) => ({ fault: cells.at(0), seen: cells.at(-1) }))).toEqual(wanted);
});

test('in the run that the page shows nothing in use was let go', () => {
  expect(rowsIn(PAGE).map(({ cells }) => cells[4])).toEqual(FAULTS.map(() => '0'));
});

test('the page says of which day, commit and machine its figures are', () => {
  expect(PAGE).toMatch(/`npm run chaos`, \d{4}-\d{2}-\d{2}, commit [0-9a-f]{12}: Kubernetes \S+, Node \S+, \d+ cores/);
});

test.each(FAULTS)('$title: a section tells what happens', ({ title }) => {
  const sections = PAGE.split(/^#{2,3} /m).map((section) => section.split(/\n+/));
  const [, ...told] = sections.find(([heading]) => heading === title) ?? [];
  expect(told.join(' ').length).toBeGreaterThan(40);
});

test.each(FAULTS.filter(({ proof }) => proof === 'unverified'))('$title: it leads to the code', ({ seen }) => {
  expect(seen).toContain('[MCG_UNVERIFIED](codes.md#mcg_unverified)');
});

test('a table takes the place of the one before it, and nothing else changes', () => {
  const changed = withTable(PAGE, '| nothing |');
  expect(changed).toContain('\n\n| nothing |\n\n');
  expect(rowsIn(changed)).toEqual([]);
  const table = PAGE.slice(PAGE.indexOf('`npm run chaos`,'), PAGE.indexOf('\n\n<!-- written by npm run chaos: end'));
  expect(withTable(changed, table)).toBe(PAGE);
  expect(() => withTable('# another page', table)).toThrow('The page has no lines');
});
