import { expect, test } from 'vitest';
import { findStalledRestores } from '../../src/status/describe-status.ts';

const NOW = new Date('2026-11-20T12:00:00Z');

test.each([
  ['a minute ago', new Date('2026-11-20T11:59:00Z'), false],
  ['an hour ago', new Date('2026-11-20T11:00:00Z'), false],
  ['more than an hour ago', new Date('2026-11-20T10:59:59Z'), true],
  ['at an unknown time', undefined, true],
])('a restore that paused a pool %s is stalled: %s', (_, since, isStalled) => {
  const pool = { kind: 'MachineConfigPool', name: 'master', references: [] } as const;
  const paused = { ...pool, pausedForRestore: { config: 'rendered-master-a', since } };
  expect(findStalledRestores([pool, paused], NOW)).toEqual(isStalled ? [paused] : []);
});
