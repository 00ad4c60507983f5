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

/** As OpenShift asks of alerts (openshift/enhancements, enhancements/monitoring/alerting-consistency.md). */
test.each(ALERTS)('$alert: a name, severity, namespace and summary as OpenShift has them', (rule) => {
  expect(rule.alert).toMatch(/^MachineConfigGuard[A-Z]\w+$/);
  // None is critical: that is for what may end the service of the whole cluster.
  expect(['warning', 'info']).toContain(rule.labels.severity);
  expect(rule.labels.namespace).toBe('machineconfig-guard');
  expect(rule.annotations.summary).toMatch(/^.{10,80}\.$/);
  expect(rule.annotations.description).toMatch(/^.{40,330}\.$/);
});

test('the table of alerts has all of them, with their severity', () => {
  const rows = readFileSync(path.join(DOCS, 'monitoring.md'), 'utf8').matchAll(
    /^\| \[(?<alert>\w+)\].* \| (?<severity>\w+) \|/gm,
  );
  const listed = [...rows].map(({ groups }) => `${groups?.['alert']} ${groups?.['severity']}`);
  expect(listed.sort()).toEqual(ALERTS.map(({ alert, labels }) => `${alert} ${labels.severity}`).sort());
});
