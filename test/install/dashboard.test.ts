import { expect, test } from 'vitest';
import { MODES } from '../../src/decision/settings.ts';
import { readFile, readTableRows } from '../docs/pages.ts';

type Panel = Readonly<Record<'title' | 'type' | 'datasource', string>> & {
  readonly format?: string;
  readonly yaxes?: readonly { readonly format: string }[];
  readonly valueMaps?: readonly Readonly<Record<'value' | 'text', string>>[];
  readonly targets: readonly { readonly expr: string }[];
};

const { rows } = JSON.parse(readFile('manifests/overlays/dashboard/machineconfig-guard.json')) as {
  readonly rows: readonly { readonly panels: readonly Panel[] }[];
};
const PANELS = rows.flatMap(({ panels }) => panels);
const DOCUMENTED = readTableRows('docs/monitoring.md').map(([name = '', type]) => {
  return name.replaceAll('`', '') + (type === 'histogram' ? '_bucket' : '');
});

/** Panel types of OpenShift's console (openshift/monitoring-plugin, legacy-dashboard.tsx). */
const DRAWN_TYPES = ['graph', 'singlestat'];
/** Units of OpenShift's console (openshift/monitoring-plugin, format.tsx). */
const UNITS = ['bytes', 's', 'short'];

test.each(PANELS)('the console can draw the panel $title', ({ type, datasource, format, yaxes, targets }) => {
  expect(DRAWN_TYPES).toContain(type);
  expect(UNITS).toContain(type === 'graph' ? yaxes?.[0]?.format : format);
  // The console would interpret a name as a plugin.
  expect(datasource).toBe('$datasource');
  const names = targets.flatMap(({ expr }) => expr.match(/(?:mcguard|process)_\w+/g) ?? []);
  expect(names.length).toBeGreaterThanOrEqual(targets.length);
  expect(DOCUMENTED).toEqual(expect.arrayContaining(names));
});

test('the panel Mode shows the name of each mode', () => {
  const { valueMaps = [], targets = [] } = PANELS.find(({ title }) => title === 'Mode') ?? {};
  expect(valueMaps.map(({ text }) => text).sort()).toEqual([...MODES].sort());
  // The metric of the current mode is 1, and the others are 0. While replicas differ, the weakest mode counts.
  const terms = valueMaps.map(({ value, text }) => `${value} * mcguard_mode{mode="${text}"}`);
  expect(targets[0]?.expr).toBe(`max(${terms.join(' or ').replace('1 * ', '')})`);
});
