import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { summaryInPage, summaryOfResults } from '../bench/wanted.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(path.join(ROOT, 'docs', 'performance.md'), 'utf8');
const RESULTS = path.join(ROOT, 'test', 'bench', 'results');
const BENCHES = readdirSync(path.join(ROOT, 'test', 'bench', 'benches')).map((file) => path.basename(file, '.ts'));
const REPORTS = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));

test('what was wanted and found is what the reports say; `npm run bench -- --summary` writes it again', () => {
  expect(summaryOfResults()).toContain('| yes |');
  expect(summaryInPage()).toBe(summaryOfResults());
});

test('every bench is in the page', () => {
  const listed = [...PAGE.matchAll(/^\| `(?<bench>\w+)`/gm)].map(({ groups }) => groups?.['bench']);
  expect(new Set(listed)).toEqual(new Set(BENCHES));
});

test.each(REPORTS)('the page leads to %s, which a whole bench has written', (file) => {
  const bench = path.basename(file, '.json');
  expect(PAGE).toContain(`../test/bench/results/${bench}.md`);
  const report: unknown = JSON.parse(readFileSync(path.join(RESULTS, file), 'utf8'));
  expect(report).toMatchObject({ bench, command: `npm run bench -- --only ${bench}` });
});
