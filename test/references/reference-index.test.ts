import * as fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { isPool, type PoolReferrer, type Referrer, toConfigName } from '../../src/mco/referrer.ts';
import { ConfigIndex, PoolHistory, ReferrersByConfig } from '../../src/references/reference-index.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { isManagedByOperator } from '../../src/mco/pool-of-node.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { build, NAMES, node, pool } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';

test('after any changes, finds the referrers of a config, all pools and unreported nodes', () => {
  const referrer = fc.oneof(node.map(parseNodeReferrer), pool.map(parsePoolReferrer), build.map(parseBuildReferrer));
  const changes = fc.array(fc.record({ referrer, gone: fc.boolean() }), { maxLength: 40 });
  checkProperty(
    fc.property(changes, (several) => {
      const known = new Map<string, Referrer>();
      const byConfig = new ReferrersByConfig();
      for (const { referrer, gone } of several) {
        const key = referrer.kind + referrer.name;
        byConfig.update(known.get(key), gone ? undefined : referrer);
        if (gone) known.delete(key);
        else known.set(key, referrer);
      }
      for (const config of NAMES.map(toConfigName)) {
        const pools = [...known.values()].filter(isPool);
        const isNeeded = (referrer: Referrer): boolean =>
          referrer.references.some((use) => use.config === config) ||
          isPool(referrer) ||
          (referrer.kind === 'Node' && referrer.references[0]?.field !== 'currentConfig');
        const walked = [...known.values()].filter((one) => isNeeded(one) && isManagedByOperator(one, pools));
        const found = byConfig.find(config);
        expect(new Set(found)).toEqual(new Set(walked));
        expect(found).toHaveLength(walked.length);
      }
    }),
    800,
  );
});

test('keeps the position of a referrer that changes', () => {
  const config = toConfigName(NAMES[0]);
  const worker = (name: string): Referrer => {
    const references = [{ field: 'currentConfig', config, strength: 'strong' } as const];
    return { kind: 'Node', name, references, state: { type: 'configured' } };
  };
  const byConfig = new ReferrersByConfig();
  const [a, b] = [worker('a'), worker('b')];
  for (const one of [a, b]) byConfig.update(undefined, one);
  byConfig.update(a, { ...a });
  expect(byConfig.find(config)).toEqual([a, b]);
});

const START = Date.parse('2026-11-20T12:00:00Z');
const [A, B] = ['a', 'b'].map(toConfigName);

/** The version of pool `worker` whose spec names these configs. */
function toPool(version: string, ...configs: readonly string[]): PoolReferrer {
  const references = configs.map((config) => {
    return { field: 'spec', config: toConfigName(config), strength: 'strong' } as const;
  });
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
    const naming = pool && pools.findLastNaming(pool, config ?? toConfigName(''), new Date(nowMs));
    return naming === undefined ? 'unknown' : `${naming.isSeen ? 'named' : 'unnamed'} ${(+naming.at - START) / 1_000}`;
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

const CONFIG = { name: toConfigName('rendered-worker-a'), uid: 'uid-a', createdAt: undefined };
const REFUSED = new ApiUnreachable('refused');
const NOT_FOUND = new ApiError(404, 'NotFound', 'not found');

/** Looks up the config when the GETs have these answers in turn, and later ones the last, until `maxGets` were sent. */
async function lookUp(
  answers: readonly (string | Error)[],
  { isIndexed = false, isForbidden = false, maxGets = 10 } = {},
) {
  const paths: string[] = [];
  const deadline = new AbortController();
  const json = async ({ path, purpose }: ApiRequest): Promise<unknown> => {
    paths.push(`${purpose} ${path}`);
    if (paths.length === maxGets) deadline.abort();
    const answer = answers[paths.length - 1] ?? answers.at(-1);
    if (answer instanceof Error) throw answer;
    const metadata = { name: CONFIG.name, uid: answer, creationTimestamp: '2026-11-20T10:00:00Z' };
    return await Promise.resolve({ metadata });
  };
  const api = { json } as unknown as KubeApi;
  const configs = new ConfigIndex({ api, log: memoryLog().log });
  vi.spyOn(configs, 'has').mockReturnValue(isIndexed);
  vi.spyOn(configs, 'isForbidden', 'get').mockReturnValue(isForbidden);
  return { ...(await configs.lookUp(api, CONFIG, deadline.signal)), paths };
}

test('sends no GET for an indexed config, and none without the right to read configs', async () => {
  expect(await lookUp([NOT_FOUND], { isIndexed: true })).toEqual({ state: 'exists', paths: [] });
  expect(await lookUp([CONFIG.uid], { isForbidden: true })).toMatchObject({ state: 'unknown', paths: [] });
});

const GET = 'lookUps /apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-worker-a';

test.each([
  ['the config exists', 1, [CONFIG.uid], { state: 'exists' }],
  ['it has another uid', 1, ['uid-b'], { state: 'missing' }],
  ['it does not exist', 1, [NOT_FOUND], { state: 'missing' }],
  ['it exists after failures', 3, [REFUSED, new ApiError(503, '', ''), CONFIG.uid], { state: 'exists' }],
  ['it is not readable', 1, [new ApiError(403, 'Forbidden', 'forbidden')], { state: 'unknown' }],
  ['the API server is unreachable', 4, [REFUSED], { state: 'unknown', reason: 'refused' }],
  ['a proxy answers 404', 4, [new ApiError(404, '', 'x')], { state: 'unknown', reason: 'the API server answered 404' }],
] as const)('if %s, sends %i GETs, at most until the abort at the fourth', async (_case, count, answers, expected) => {
  const { paths, ...result } = await lookUp(answers, { maxGets: 4 });
  expect(result).toMatchObject(expected);
  expect(paths).toEqual(Array(count).fill(GET));
});
