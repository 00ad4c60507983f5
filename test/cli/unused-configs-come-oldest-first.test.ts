import { expect, test } from 'vitest';
import { formatUnusedReport } from '../../src/cli/who-uses/format-report.ts';
import { findUnusedConfigs, buildUnusedReport } from '../../src/inspect/references-report.ts';
import { toConfigName } from '../../src/decision/config-name.ts';

const config = (name: string, createdAt: string) => ({ name: toConfigName(name), createdAt: new Date(createdAt) });

test('oldest first, those of the same second by name; ages and sizes in one unit', () => {
  const usage = {
    server: 'x',
    at: new Date('2026-11-20T12:00:00Z'),
    configs: [
      config('rendered-c', '2026-11-20T11:00:00Z'),
      config('rendered-b', '2026-10-01T00:00:00Z'),
      config('rendered-a', '2026-11-20T11:00:00Z'),
    ],
    referrers: [],
  };
  const unused = findUnusedConfigs(usage);
  expect(unused.map(({ name }) => name)).toEqual(['rendered-b', 'rendered-a', 'rendered-c']);
  const sizes = new Map([
    [toConfigName('rendered-a'), 900],
    [toConfigName('rendered-b'), 1_500_000],
    [toConfigName('rendered-c'), 200_000],
  ]);
  expect(
    formatUnusedReport({ width: 80, colours: false }, buildUnusedReport(usage, unused, sizes))
      .split('\n')
      .slice(0, 5),
  ).toEqual([
    'NAME        POOL    AGE     SIZE',
    'rendered-b  <none>  50d  1.4 MiB',
    'rendered-a  <none>  60m    900 B',
    'rendered-c  <none>  60m  195 KiB',
    '',
  ]);
});
