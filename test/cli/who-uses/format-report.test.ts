import { expect, test } from 'vitest';
import { formatUnusedReport } from '../../../src/cli/who-uses/format-report.ts';
import { toConfigName } from '../../../src/decision/config-name.ts';

const NOTE = { kind: 'Node', name: 'n', field: 'lastAppliedDrain' } as const;

const toConfig = (createdAt: string, sizeBytes: number, mentionedBy = [NOTE]) => {
  return {
    name: toConfigName(`rendered-${sizeBytes}`),
    pool: null,
    createdAt,
    sizeBytes,
    mentionedBy,
  };
};

test('formats unused configs with ages and sizes in one unit, and with notes', () => {
  const unused = [
    toConfig('2026-10-01T00:00:00Z', 1_500_000),
    toConfig('2026-11-20T11:00:00Z', 900, []),
    toConfig('2026-11-20T11:00:00Z', 200_000, []),
  ];
  const report = {
    server: 'x',
    readAt: '2026-11-20T12:00:00Z',
    unreportedNodes: 1,
    unused,
    totalBytes: 1_700_900,
  };
  const [table, text] = formatUnusedReport({ width: 80, hasColors: false }, report, 4).split('\n\n');
  expect(table?.split('\n')).toEqual([
    'NAME              POOL    AGE     SIZE  NOTES',
    'rendered-1500000  <none>  50d  1.4 MiB      1',
    'rendered-900      <none>  60m    900 B',
    'rendered-200000   <none>  60m  195 KiB',
  ]);
  expect(text?.replaceAll('\n', ' ')).toMatch(
    /^3 unused rendered configs, 1\.6 MiB in total\. Point-in-time .* NOTES .* 1 node has not .* configs\. $/,
  );
});
