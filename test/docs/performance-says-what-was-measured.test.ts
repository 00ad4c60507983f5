import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { summaryInPage, summaryOfResults } from '../bench/wanted.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(path.join(ROOT, 'docs', 'performance.md'), 'utf8');
const BENCHES = readdirSync(path.join(ROOT, 'test', 'bench', 'benches')).map((file) => path.basename(file, '.ts'));

test('what was wanted and found is what the reports say; `npm run bench -- --summary` writes it again', () => {
  expect(summaryOfResults()).toContain('| yes |');
  expect(summaryInPage()).toBe(summaryOfResults());
});

test.each(BENCHES)('the bench %s has been run, and the page leads to what it found', (bench) => {
  expect(PAGE).toContain(`../test/bench/results/${bench}.md`);
  const report = readFileSync(path.join(ROOT, 'test', 'bench', 'results', `${bench}.json`), 'utf8');
  expect(JSON.parse(report)).toMatchObject({ bench, command: `npm run bench -- --only ${bench}` });
});
