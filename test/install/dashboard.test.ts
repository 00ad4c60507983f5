import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODES } from '../../src/decision/settings.ts';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly span: number;
  readonly datasource: unknown;
  readonly format?: string;
  readonly yaxes?: readonly { readonly format: string }[];
  readonly valueMaps?: readonly { readonly op: string; readonly value: string; readonly text: string }[];
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const ROOT = path.join(import.meta.dirname, '..', '..');
const { rows, schemaVersion } = JSON.parse(
  readFileSync(path.join(ROOT, 'manifests', 'overlays', 'dashboard', 'machineconfig-guard.json'), 'utf8'),
) as { readonly schemaVersion: number; readonly rows: readonly { readonly panels: readonly Panel[] }[] };
const PANELS = rows.flatMap(({ panels }) => panels);
const DOCUMENTED = [
  ...readFileSync(path.join(ROOT, 'docs', 'metrics.md'), 'utf8').matchAll(/^\| `(?<name>\w+)` \| (?<type>\w+)/gm),
].map(({ groups }) => `${groups?.['name']}${groups?.['type'] === 'histogram' ? '_bucket' : ''}`);

/** Panel types that OpenShift's console draws and that we use (openshift/monitoring-plugin, legacy-dashboard.tsx). */
const DRAWN_TYPES = ['graph', 'singlestat'];
/** Units of OpenShift's console (openshift/monitoring-plugin, format.tsx). */
const UNITS = ['bytes', 's', 'short'];

test('the schema is older than version 16, which removed panels in rows', () => {
  expect(schemaVersion).toBeLessThan(16);
});

test('each row is twelve columns wide, and each panel has a unique id', () => {
  expect(rows.map(({ panels }) => panels.reduce((sum, { span }) => sum + span, 0))).toEqual(rows.map(() => 12));
  expect(new Set(PANELS.map(({ id }) => id)).size).toBe(PANELS.length);
});

describe.each(PANELS)('$title', ({ type, datasource, format, yaxes, targets }) => {
  test('has a type and a unit that the console knows', () => {
    expect(DRAWN_TYPES).toContain(type);
    expect(UNITS).toContain(type === 'graph' ? yaxes?.[0]?.format : format);
    // The console would interpret a name as a plugin.
    expect(datasource).toBe('$datasource');
  });

  test('queries documented metrics', () => {
    for (const { expr } of targets) {
      const names = [...expr.matchAll(/(?:mcguard|process)_\w+/g)].map(([name]) => name);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect(DOCUMENTED).toContain(name);
    }
  });
});

test('the panel Mode shows the name of each mode', () => {
  const panel = PANELS.find(({ title }) => title === 'Mode');
  const valueByMode = new Map(panel?.valueMaps?.map(({ value, text }) => [text, Number(value)]));
  expect([...valueByMode.keys()].sort()).toEqual([...MODES].sort());
  for (const mode of MODES) {
    // In this mode the metric of this mode is 1, and the others are 0.
    const terms = (panel?.targets[0]?.expr ?? '').split(' + ').map((term) => {
      const parts = /^(?:(?<factor>\d) \* )?max\(mcguard_mode\{mode="(?<mode>\w+)"\}\)$/.exec(term)?.groups;
      return parts?.['mode'] === mode ? Number(parts['factor'] ?? 1) : 0;
    });
    expect(terms.reduce((sum, term) => sum + term, 0)).toBe(valueByMode.get(mode));
  }
});
