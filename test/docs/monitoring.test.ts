import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { MODES } from '../../src/api/settings.ts';
import { ALERTS } from '../e2e/monitoring/alerting-rules.ts';
import { OTHER, startWorld, UNUSED } from '../virtual-time/world.ts';
import { listFiles, listPanels, readDashboard, readFile, readTableRows } from './pages.ts';

const PAGE_ROWS = readTableRows('docs/monitoring.md');
const METRIC_ROWS = PAGE_ROWS.filter(([name]) => name?.startsWith('`'));

test('every runbook belongs to an alert', () => {
  const runbooks = ALERTS.map(({ alert }) => `docs/runbooks/${alert}.md`);
  expect(listFiles('docs/runbooks').toSorted()).toEqual(runbooks.toSorted());
});

test.each(ALERTS)('$alert follows the conventions, and its runbook first says whether the alert can wait', (rule) => {
  const { alert, annotations, labels } = rule;
  // openshift/enhancements, enhancements/monitoring/alerting-consistency.md
  expect(['warning', 'info']).toContain(labels.severity);
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
  const rows = PAGE_ROWS.filter(([link]) => link?.startsWith('[Machine'));
  const listed = rows.map(([link = '', severity]) => `${/\w+/.exec(link)?.[0]}: ${severity}`);
  const alerts = ALERTS.map(({ alert, labels }) => `${alert}: ${labels.severity}`);
  expect(listed.toSorted()).toEqual(alerts.toSorted());
});

test('docs/monitoring.md lists every metric with its type and labels', async () => {
  const { world, clock, replica } = await startWorld();
  await replica.review(UNUSED);
  world.answer(/\/status$/, { status: 500 });
  // The guard cannot report it, which is a failed task.
  world.setNode('worker-1', OTHER);
  await clock.pass(2_000);
  const text = await replica.readMetrics();
  const exported = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, base = '', type = '']) => {
    // OpenMetrics names a counter without the suffix of its samples.
    const name = type === 'counter' ? `${base}_total` : base;
    const samples = text.match(new RegExp(`^${name}(?:_bucket)?\\{.*`, 'gm')) ?? [];
    const labels = new Set(samples.flatMap((sample) => sample.match(/\w+(?==")/g) ?? []));
    return `${name} (${type}): ${[...labels].filter((label) => label !== 'le').join(', ')}`;
  });
  const documented = METRIC_ROWS.map(([name, type, labels]) => `${name} (${type}): ${labels}`.replaceAll('`', ''));
  expect(documented.toSorted()).toEqual(exported.toSorted());
});

const PANELS = listPanels();

/** Panel types of OpenShift's console (openshift/monitoring-plugin, legacy-dashboard.tsx). */
const DRAWN_TYPES = ['graph', 'singlestat'];
/** A unit of OpenShift's console (openshift/monitoring-plugin, format.tsx), by the name of the metric. */
function findUnit(expr: string): string {
  if (expr.includes('_seconds')) return 's';
  return expr.includes('_bytes') ? 'bytes' : 'short';
}

test.each(PANELS)('the console can draw the panel $title', ({ type, datasource, format, yaxes, targets, ...panel }) => {
  expect(DRAWN_TYPES).toContain(type);
  const unit = type === 'graph' ? yaxes?.[0]?.format : format;
  for (const { expr } of targets) expect(unit).toBe(findUnit(expr));
  // By default, Grafana shows the average.
  expect(panel.valueName).toBe(type === 'graph' ? undefined : 'current');
  // The console would interpret a name as a plugin.
  const variables = readDashboard().templating.list.map((variable) => ({ ...variable, name: `$${variable.name}` }));
  expect(variables).toMatchObject([{ name: datasource, type: 'datasource', query: 'prometheus' }]);
});

test('the console looks for the dashboard where its overlay puts it', () => {
  const { configMapGenerator } = parse(readFile('manifests/overlays/dashboard/kustomization.yaml')) as object & {
    readonly configMapGenerator: unknown;
  };
  const options = { labels: { 'console.openshift.io/dashboard': 'true' } };
  expect(configMapGenerator).toMatchObject([{ namespace: 'openshift-config-managed', options }]);
});

test('the panel Mode shows the name of each mode', () => {
  const { valueMaps = [], targets = [] } = PANELS.find(({ title }) => title === 'Mode') ?? {};
  expect(valueMaps.map(({ text }) => text).sort()).toEqual([...MODES].sort());
  // The metric of the current mode is 1, and the others are 0. While replicas differ, the weakest mode counts.
  const terms = valueMaps.map(({ value, text }) => `${value} * mcguard_mode{mode="${text}"}`);
  expect(targets[0]?.expr).toBe(`max(${terms.join(' or ').replace('1 * ', '')})`);
});

test('the panel Dangling references is red from the first one on, in the console and in Grafana', () => {
  const {
    colors = [],
    thresholds = '',
    options,
  } = PANELS.find(({ title }) => title === 'Dangling references') ?? expect.fail('there is no such panel');
  const limits = thresholds.split(',').map(Number);
  const findColors = (value: number) => [
    options?.fieldOptions.thresholds.findLast((each) => each.value <= value)?.color,
    colors[limits.filter((limit) => limit <= value).length],
  ];
  expect(findColors(0)).toEqual(['green', '#299c46']);
  expect(findColors(1)).toEqual(['red', '#d44a3a']);
});
