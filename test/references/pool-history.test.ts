import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { PoolReferrer } from '../../src/mco/referrer.ts';
import { referencesTo } from '../support/referrers.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { PoolHistory } from '../../src/references/pool-history.ts';

const START = Date.parse('2026-11-20T12:00:00Z');
const [A, B] = ['a', 'b'].map(toConfigName);

/** The version of pool `worker` whose spec names these configs. */
function toPool(version: string, ...configs: readonly string[]): PoolReferrer {
  const references = configs.flatMap((config) => referencesTo(config, 'spec'));
  return { kind: 'MachineConfigPool', name: 'worker', version, references };
}

describe('the history of pools', () => {
  let pools: PoolHistory;
  let last: PoolReferrer | undefined;

  beforeEach(() => {
    fakeUntilEnd('performance', 'Date');
    vi.setSystemTime(START);
    pools = new PoolHistory();
    last = undefined;
  });

  /** The guard sees a version, after some seconds. */
  function see(origin: 'list' | 'watch', pool: PoolReferrer | undefined, afterSeconds = 0): void {
    vi.advanceTimersByTime(afterSeconds * 1_000);
    pools.update(last, pool, origin);
    last = pool;
  }

  /** Returns the seconds since the start, and whether the guard has seen the config. */
  function find(config = A, pool = last, nowMs = Date.now()): string {
    const lastUse = pool && pools.findLastUse(pool, config ?? toConfigName(''), new Date(nowMs));
    return lastUse === undefined
      ? 'unknown'
      : `${lastUse.isSeen ? 'named' : 'unnamed'} ${(+lastUse.at - START) / 1_000}`;
  }

  test('knows until when a pool has named a config, and since when it has not', () => {
    see('list', toPool('1', 'a'), 10);
    expect([find(A), find(B)]).toEqual(['unnamed 10', 'unnamed 10']);
    see('watch', toPool('2', 'a', 'b'), 10);
    see('watch', toPool('3', 'b'), 10);
    expect([find(A), find(B)]).toEqual(['named 30', 'named 30']);
    see('watch', toPool('4', 'b'), 10);
    expect([find(A), find(B)]).toEqual(['named 30', 'named 40']);
  });

  test.each<[string, (pool: PoolReferrer) => string]>([
    ['another version of the pool', (pool) => find(A, { ...pool, version: '3' })],
    ['the same version with another content, as after an etcd restore', (pool) => find(A, { ...pool, references: [] })],
    ['a version without a number', (pool) => (see('watch', { ...pool, version: undefined }), find(A))],
    ['another pool', (pool) => find(A, { ...pool, name: 'infra' })],
    ['a deleted pool', (pool) => (see('watch', undefined), find(A, pool))],
  ])('knows nothing of %s', (_case, findIn) => {
    see('list', toPool('2', 'b'));
    expect(find()).toBe('unnamed 0');
    expect(findIn(toPool('2', 'b'))).toBe('unknown');
  });

  test.each<[string, string, () => void]>([
    ['keeps its memory over a list with the last version', 'named 10', () => see('list', toPool('2', 'b'), 5)],
    ['starts again with a list of another version', 'unnamed 15', () => see('list', toPool('3', 'b'), 5)],
    [
      'starts again after a deletion',
      'unnamed 20',
      () => (see('watch', undefined, 5), see('watch', toPool('4', 'b'), 5)),
    ],
  ])('%s', (_case, expected, change) => {
    see('list', toPool('1', 'a'));
    see('watch', toPool('2', 'b'), 10);
    change();
    expect(find()).toBe(expected);
  });

  test('forgets the oldest of more than 100 configs, and then also what was before', () => {
    see('list', toPool('0', 'a'));
    for (let version = 1; version <= 101; version += 1) see('watch', toPool(`${version}`, `c${version}`), 1);
    expect([find(A), find(toConfigName('never')), find(toConfigName('c1'))]).toEqual([
      'unnamed 1',
      'unnamed 1',
      'named 2',
    ]);
  });

  test.each([
    ['the same time in every answer, although the API server cuts its seconds', 10_900, 10_000, 'named 0'],
    ['the time by the monotonic clock, after the clock of the guard was set back', 10_000, -90_000, 'named -100'],
  ])('gives %s', (_case, elapsedMs, nowMs, expected) => {
    see('list', toPool('1', 'a'));
    see('watch', toPool('2', 'b'));
    vi.advanceTimersByTime(elapsedMs);
    expect(find(A, last, START + nowMs)).toBe(expected);
  });
});
