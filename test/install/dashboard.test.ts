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

/** Of those that the console draws (openshift/monitoring-plugin, legacy-dashboard.tsx), the ones used here. It leaves out any other. */
const DRAWN = ['graph', 'singlestat'];
/** Units that the console knows (openshift/monitoring-plugin, format.tsx). */
const UNITS = ['bytes', 's', 'short'];

test('Grafana brings it up to date: panels in rows are older than its version 16', () => {
  expect(schemaVersion).toBeLessThan(16);
});

test('each row is twelve columns wide, and each panel has a number of its own', () => {
  expect(rows.map(({ panels }) => panels.reduce((sum, { span }) => sum + span, 0))).toEqual(rows.map(() => 12));
  expect(new Set(PANELS.map(({ id }) => id)).size).toBe(PANELS.length);
});

describe.each(PANELS)('$title', ({ type, datasource, format, yaxes, targets }) => {
  test('is drawn, in a unit that is known', () => {
    expect(DRAWN).toContain(type);
    expect(UNITS).toContain(type === 'graph' ? yaxes?.[0]?.format : format);
    // By its name the console would look for a plugin.
    expect(datasource).toBe('$datasource');
  });

  test('shows metrics that are documented', () => {
    for (const { expr } of targets) {
      const names = [...expr.matchAll(/(?:mcguard|process)_\w+/g)].map(([name]) => name);
      expect(names.length).toBeGreaterThan(0);
      for (const name of names) expect(DOCUMENTED).toContain(name);
    }
  });
});

test('the mode is shown by its name, whichever it is', () => {
  const panel = PANELS.find(({ title }) => title === 'Mode');
  const shown = new Map(panel?.valueMaps?.map(({ value, text }) => [text, Number(value)]));
  expect([...shown.keys()].sort()).toEqual([...MODES].sort());
  for (const mode of MODES) {
    // The query for a replica in this mode: its own metric is 1, the others are 0.
    const terms = (panel?.targets[0]?.expr ?? '').split(' + ').map((term) => {
      const parts = /^(?:(?<factor>\d) \* )?max\(mcguard_mode\{mode="(?<mode>\w+)"\}\)$/.exec(term)?.groups;
      return parts?.['mode'] === mode ? Number(parts['factor'] ?? 1) : 0;
    });
    expect(terms.reduce((sum, term) => sum + term, 0)).toBe(shown.get(mode));
  }
});
