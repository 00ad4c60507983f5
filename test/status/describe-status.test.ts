import { expect, test } from 'vitest';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { findStalledRestores } from '../../src/status/describe-status.ts';

test('a restore is stalled if it paused its pool more than an hour ago, or at an unknown time', () => {
  const pool = parsePoolReferrer({ metadata: { name: 'worker' } });
  const config = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
  const [recent, old, undated] = ['2026-11-21T11:00:00Z', '2026-11-21T10:59:59Z', undefined].map((time) => {
    return { ...pool, pausedForRestore: { config, since: time === undefined ? undefined : new Date(time) } };
  });
  const now = new Date('2026-11-21T12:00:00Z');
  const pools = [pool, recent, old, undated].filter((each) => each !== undefined);
  expect(findStalledRestores(pools, now)).toEqual([old, undated]);
});
