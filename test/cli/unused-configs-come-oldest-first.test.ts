import { expect, test } from 'vitest';
import { unusedPage } from '../../src/cli/who-uses-page.ts';
import { unusedConfigs, unusedReport } from '../../src/cli/who-uses-report.ts';
import { configName } from '../../src/policy/config-name.ts';

const config = (name: string, createdAt: string) => ({ name: configName(name), createdAt: new Date(createdAt) });

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
  const unused = unusedConfigs(usage);
  expect(unused.map(({ name }) => name)).toEqual(['rendered-b', 'rendered-a', 'rendered-c']);
  const sizes = new Map([
    [configName('rendered-a'), 900],
    [configName('rendered-b'), 1_500_000],
    [configName('rendered-c'), 200_000],
  ]);
  expect(
    unusedPage({ width: 80, colours: false }, unusedReport(usage, unused, sizes))
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
