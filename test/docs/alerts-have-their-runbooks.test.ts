import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { alertingRules, RULE_FILES } from '../e2e/monitoring/alerting-rules.ts';

const DOCS = path.join(import.meta.dirname, '..', '..', 'docs');
const ALERTS = (await Promise.all(RULE_FILES.map(async (file) => await alertingRules(file)))).flat();
const BASE = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/runbooks';

test('a page for each alert, an alert for each page', () => {
  const pages = readdirSync(path.join(DOCS, 'runbooks')).sort();
  expect(pages).toEqual(ALERTS.map(({ alert }) => `${alert}.md`).sort());
});

test.each(ALERTS)('$alert: leads to its page, which says what it means and what to do', ({ alert, annotations }) => {
  expect(annotations.runbook_url).toBe(`${BASE}/${alert}.md`);
  const page = readFileSync(path.join(DOCS, 'runbooks', `${alert}.md`), 'utf8');
  expect(page.split('\n').filter((line) => line.startsWith('#'))).toEqual([
    `# ${alert}`,
    '## Meaning',
    '## Impact',
    '## Diagnosis',
    '## Mitigation',
  ]);
});

test('the table of alerts has all of them, with their severity', () => {
  const rows = readFileSync(path.join(DOCS, 'monitoring.md'), 'utf8').matchAll(
    /^\| \[(?<alert>\w+)\].* \| (?<severity>\w+) \|/gm,
  );
  const listed = [...rows].map(({ groups }) => `${groups?.['alert']} ${groups?.['severity']}`);
  expect(listed.sort()).toEqual(ALERTS.map(({ alert, labels }) => `${alert} ${labels.severity}`).sort());
});
