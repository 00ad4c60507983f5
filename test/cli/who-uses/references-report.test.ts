import { expect, test } from 'vitest';
import { toConfigName } from '../../../src/decision/config-name.ts';
import { buildUnusedReport } from '../../../src/cli/who-uses/references-report.ts';
import { findUnusedConfigs } from '../../../src/client/holds.ts';

test('sorts unused configs by age, then by name, and leaves out deleted ones', () => {
  const configs = [
    { name: toConfigName('rendered-c'), createdAt: new Date('2026-11-20T11:00:00Z') },
    { name: toConfigName('rendered-b'), createdAt: new Date('2026-10-01T00:00:00Z') },
    { name: toConfigName('rendered-a'), createdAt: new Date('2026-11-20T11:00:00Z') },
  ];
  const references = {
    server: 'x',
    at: new Date('2026-11-20T12:00:00Z'),
    configs,
    referrers: [],
  };
  const unused = findUnusedConfigs(references);
  expect(unused.map(({ name }) => name)).toEqual(['rendered-b', 'rendered-a', 'rendered-c']);
  const sizes = new Map([
    [toConfigName('rendered-a'), 900],
    [toConfigName('rendered-b'), 100],
  ]);
  const report = buildUnusedReport(references, unused, sizes, new Map());
  expect(report.unused.map(({ name }) => name)).toEqual(['rendered-b', 'rendered-a']);
  expect(report.totalBytes).toBe(1_000);
});
