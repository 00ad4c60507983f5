import { expect, test } from 'vitest';
import { ALERTS } from '../e2e/monitoring/alerting-rules.ts';
import { listFiles, readFile, readTableRows } from './pages.ts';

test('every runbook belongs to an alert', () => {
  const runbooks = ALERTS.map(({ alert }) => `docs/runbooks/${alert}.md`);
  expect(listFiles('docs/runbooks').toSorted()).toEqual(runbooks.toSorted());
});

test.each(ALERTS)('$alert follows the conventions, and its runbook first says whether the alert can wait', (rule) => {
  const { alert, annotations, labels } = rule;
  // openshift/enhancements, enhancements/monitoring/alerting-consistency.md
  expect(['warning', 'info']).toContain(labels.severity);
  expect(labels.namespace).toBe('machineconfig-guard');
  expect(annotations).toMatchObject({ summary: expect.any(String), description: expect.any(String) });
  const runbook = `docs/runbooks/${alert}.md`;
  expect(annotations.runbook_url.split('/blob/main/')[1]).toBe(runbook);
  const headings = readFile(runbook).match(/^#.*$/gm);
  expect(headings).toEqual([`# ${alert}`, '## Meaning', '## Impact', '## Diagnosis', '## Mitigation']);
  const [, start] = readFile(runbook).split(/^#.*\n/m);
  expect(start).toMatch(/^\n\*\*Can it wait until morning\?\*\* (Yes|No|Only if)\b/);
  expect(start).toContain('[Get `machineconfig-guard`](../install.md#get-the-program).');
});

test('docs/monitoring.md lists every alert with its severity', () => {
  const rows = readTableRows('docs/monitoring.md').filter(([link]) => link?.startsWith('[Machine'));
  const listed = rows.map(([link = '', severity]) => `${/\w+/.exec(link)?.[0]}: ${severity}`);
  const alerts = ALERTS.map(({ alert, labels }) => `${alert}: ${labels.severity}`);
  expect(listed.toSorted()).toEqual(alerts.toSorted());
});
