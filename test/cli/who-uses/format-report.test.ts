import { expect, test } from 'vitest';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import {
  formatConfigList,
  formatHeldNotice,
  formatUnusedNames,
  formatUnusedReport,
} from '../../../src/cli/who-uses/format-report.ts';
import { toConfigName } from '../../../src/decision/config-name.ts';

const NOTE = { kind: 'Node', name: 'n', field: 'lastAppliedDrain' } as const;

const toConfig = (createdAt: string, sizeBytes: number, mentionedBy = [NOTE], heldUntil: string | null = null) => {
  return {
    name: toConfigName(`rendered-${sizeBytes}`),
    pool: null,
    createdAt,
    sizeBytes,
    mentionedBy,
    heldUntil,
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

test('shows until when configs are held, and omits their names', () => {
  const name = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
  const held = { ...toConfig('2026-11-20T11:00:00Z', 200_000, [], '2026-11-20T14:00:01.000Z'), name };
  const unused = [{ ...held, pool: 'worker' }, toConfig('2026-11-20T11:00:00Z', 900, [])];
  const report = {
    server: 'x',
    readAt: '2026-11-20T12:00:00Z',
    unreportedNodes: 0,
    unused,
    totalBytes: 200_900,
  };
  const format = (columns: number) =>
    formatUnusedReport({ width: 80, hasColors: false, columns }, report, 4).split('\n');
  expect(format(100).slice(0, 3)).toEqual([
    'NAME                                              POOL    AGE     SIZE  HELD UNTIL',
    `${name}  worker  60m  195 KiB  2026-11-20T14:00:01Z`,
    'rendered-900                                      <none>  60m    900 B',
  ]);
  expect(format(80).join(' ')).toContain('The guard denies the deletion of a held config, because a machine may');
  expect(formatUnusedNames(report)).toBe('rendered-900\n');
  expect(formatHeldNotice(report)).toBe('Omitted 1 held config.\n');
  expect(formatHeldNotice({ ...report, unused: [] })).toBe('');
});

const HASH = 'a4983d88dabdc54ecf977ee120fd3796';
const USED = [
  ...['n-0', 'n-1', 'n-2', 'n-3'].map((name) => ({ kind: 'Node' as const, name, field: 'currentConfig' })),
  { kind: 'MachineConfigPool' as const, name: 'gpu', field: 'spec' },
].map((entry) => ({ ...entry, keepsConfig: true }));

const toListed = (name: string, usedBy = USED) => {
  const createdAt = '2026-11-01T00:00:00Z';
  const pool = 'gpu';
  return {
    name: toConfigName(name),
    exists: true,
    pool,
    createdAt,
    sizeBytes: 200_000,
    used: usedBy.length > 0,
    usedBy,
  };
};

test.each([
  [
    '-o wide',
    { columns: 80, isWide: true },
    `rendered-gpu-${HASH}  gpu   19d  195 KiB  nodes n-0, n-1, n-2 and 1 more and pool gpu`,
  ],
  ['a terminal', { columns: 80 }, 'rendered-gpu-a4983d88  gpu   19d  195 KiB  4 nodes, 1 pool'],
  ['a pipe', {}, `rendered-gpu-${HASH}  gpu   19d  195 KiB  4 nodes, 1 pool`],
])('lists configs for %s', (_case, options, row) => {
  const report = {
    server: 'x',
    readAt: '2026-11-20T12:00:00Z',
    unreportedNodes: 0,
    configs: [toListed(`rendered-gpu-${HASH}`), toListed('rendered-gpu-b4983d88dabdc54ecf977ee120fd3796', [])],
  };
  const commands = new CommandFormatter('machineconfig-guard', {});
  const text = formatConfigList({ width: 80, hasColors: false, commands, ...options }, report);
  const [, first = '', second = ''] = text.split('\n');
  expect(first).toBe(row);
  expect(second).toMatch(/ <none>$/);
});
