import { expect, test } from 'vitest';
import { alertingRules, RULE_FILES } from '../e2e/monitoring/alerting-rules.ts';
import { listFiles, readFile, readTableRows } from './pages.ts';

const ALERTS = (await Promise.all(RULE_FILES.map(async (file) => await alertingRules(file)))).flat();

test('every runbook belongs to an alert', () => {
  const runbooks = ALERTS.map(({ alert }) => `docs/runbooks/${alert}.md`);
  expect(listFiles('docs/runbooks').toSorted()).toEqual(runbooks.toSorted());
});

test.each(ALERTS)('$alert follows the conventions of OpenShift and links to its runbook', (rule) => {
  // An alert is critical only if the whole cluster may stop serving (openshift/enhancements,
  // enhancements/monitoring/alerting-consistency.md).
  expect(['warning', 'info']).toContain(rule.labels.severity);
  expect(rule.labels.namespace).toBe('machineconfig-guard');
  expect(rule.annotations.summary).toMatch(/^.{10,80}\.$/);
  expect(rule.annotations.description).toMatch(/^.{40,330}\.$/);
  const runbook = `docs/runbooks/${rule.alert}.md`;
  expect(rule.annotations.runbook_url.split('/blob/main/')[1]).toBe(runbook);
  const headings = readFile(runbook).match(/^#.*$/gm);
  expect(headings).toEqual([`# ${rule.alert}`, '## Meaning', '## Impact', '## Diagnosis', '## Mitigation']);
});

test('docs/monitoring.md lists every alert with its severity', () => {
  const rows = readTableRows(readFile('docs/monitoring.md')).filter(([link]) => link?.startsWith('[Machine'));
  const listed = rows.map(([link, severity]) => `${/\w+/.exec(link ?? '')?.[0]} ${severity}`);
  expect(listed.toSorted()).toEqual(ALERTS.map(({ alert, labels }) => `${alert} ${labels.severity}`).toSorted());
});
