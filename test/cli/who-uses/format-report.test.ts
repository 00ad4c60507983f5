import { expect, test } from 'vitest';
import { formatUnusedReport } from '../../../src/cli/who-uses/format-report.ts';
import { toConfigName } from '../../../src/decision/config-name.ts';

const toConfig = (createdAt: string, sizeBytes: number) => ({
  name: toConfigName(`rendered-${sizeBytes}`),
  pool: null,
  createdAt,
  sizeBytes,
  mentionedBy: [],
});

test('formats ages and sizes in one unit', () => {
  const unused = [
    toConfig('2026-10-01T00:00:00Z', 1_500_000),
    toConfig('2026-11-20T11:00:00Z', 900),
    toConfig('2026-11-20T11:00:00Z', 200_000),
  ];
  const report = { server: 'x', readAt: '2026-11-20T12:00:00Z', unreportedNodes: 0, unused, totalBytes: 1_700_900 };
  const lines = formatUnusedReport({ width: 80, hasColors: false }, report).split('\n');
  expect(lines.slice(0, 5)).toEqual([
    'NAME              POOL    AGE     SIZE',
    'rendered-1500000  <none>  50d  1.4 MiB',
    'rendered-900      <none>  60m    900 B',
    'rendered-200000   <none>  60m  195 KiB',
    '',
  ]);
});
