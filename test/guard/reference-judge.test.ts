import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { DEFAULT_SETTINGS, type Mode } from '../../src/decision/settings.ts';
import { ReferenceJudge } from '../../src/guard/reference-judge.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';

const NEAREST = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const TYPO = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3797';
const NOT_FOUND = new ApiError(404, 'NotFound', 'not found');
const GUARD_PROBLEM = new Error('unexpected');

interface Situation {
  /** The answer to a GET. */
  readonly get?: () => Promise<object>;
  readonly isForbidden?: boolean;
  readonly mode?: Mode;
  readonly names?: () => ReadonlySet<ReturnType<typeof toConfigName>>;
}

function createJudge({ get, isForbidden = false, mode = 'Enforce', names }: Situation = {}) {
  const paths: string[] = [];
  let running = 0;
  let maxRunning = 0;
  const json = async ({ path }: ApiRequest): Promise<unknown> => {
    paths.push(path.replace(/.*\//, ''));
    running += 1;
    maxRunning = Math.max(running, maxRunning);
    try {
      return await (get ?? (async () => await Promise.reject(NOT_FOUND)))();
    } finally {
      running -= 1;
    }
  };
  const indexed = new Set([toConfigName(NEAREST)]);
  const judge = new ReferenceJudge({
    api: { json },
    index: { names: names ?? (() => indexed), isForbidden },
    settings: () => ({ ...DEFAULT_SETTINGS, mode }),
  });
  return {
    paths,
    maxRunning: () => maxRunning,
    judge: async (configs: readonly string[], timeoutMs = 2_000) => {
      const references = configs.map((config, index) => {
        const field = index === 0 ? 'currentConfig' : 'desiredConfig';
        return {
          kind: 'Node',
          name: 'n',
          field,
          config: toConfigName(config),
          strength: 'strong',
        } as const;
      });
      const review = { uid: 'u', user: 'admin', isDryRun: false, references };
      const { verdict, path } = await judge.judge(review, AbortSignal.timeout(timeoutMs));
      return { code: verdict.code, message: verdict.message, path };
    },
  };
}

test('allows a config in the index without a GET', async () => {
  const { judge, paths } = createJudge();
  expect(await judge([NEAREST])).toMatchObject({ code: 'MCG_KNOWN_CONFIG', path: 'index' });
  expect(paths).toEqual([]);
});

test('allows a config that only the GET finds, because the index can be late', async () => {
  const { judge, paths } = createJudge({ get: async () => await Promise.resolve({ metadata: {} }) });
  expect((await judge([TYPO])).code).toBe('MCG_KNOWN_CONFIG');
  expect(paths).toEqual([TYPO]);
});

test('denies a missing config after one GET, and names the nearest', async () => {
  const { judge, paths } = createJudge();
  const { code, message } = await judge([TYPO, TYPO]);
  expect(code).toBe('MCG_UNKNOWN_CONFIG');
  expect(message).toContain(`Did you mean ${NEAREST}?`);
  expect(paths).toEqual([TYPO]);
});

test.each(['Rendered-worker', 'rendered worker', '../nodes', 'x'.repeat(254)])(
  'denies "%s", which no object can have as a name, without a GET',
  async (name) => {
    const { judge, paths } = createJudge();
    expect((await judge([name])).code).toBe('MCG_UNKNOWN_CONFIG');
    expect(paths).toEqual([]);
  },
);

test.each([
  ['is forbidden', new ApiError(403, 'Forbidden', 'forbidden')],
  ['fails', new ApiError(500, 'InternalError', 'broken')],
  ['is answered 404 by a proxy', new ApiError(404, '', 'page not found')],
  ['cannot be sent', new ApiUnreachable('connection refused')],
  ['throws an unexpected error', GUARD_PROBLEM],
])('allows as unchecked if the GET %s', async (_case, error) => {
  const { judge } = createJudge({ get: async () => await Promise.reject(error) });
  expect(await judge([TYPO])).toMatchObject({ code: 'MCG_UNCHECKED' });
});

test('allows as unchecked at the deadline, and without the right to read configs', async () => {
  const silent = createJudge({ get: async () => await sleep(5_000, {}) });
  const startedAt = performance.now();
  expect(await silent.judge([TYPO], 200)).toMatchObject({
    code: 'MCG_UNCHECKED',
    message: expect.stringMatching(/no answer in time$/) as string,
  });
  expect(performance.now() - startedAt).toBeLessThan(1_000);

  const forbidden = createJudge({ isForbidden: true });
  expect((await forbidden.judge([NEAREST])).code).toBe('MCG_UNCHECKED');
  expect(forbidden.paths).toEqual([]);
});

test('allows as unchecked after an internal error', async () => {
  const { judge } = createJudge({
    names: () => {
      throw GUARD_PROBLEM;
    },
  });
  expect((await judge([TYPO])).code).toBe('MCG_UNCHECKED');
});

test('reads nothing in mode Disabled, and for an update that changes no reference', async () => {
  const disabled = createJudge({ mode: 'Disabled' });
  expect(await disabled.judge([TYPO])).toMatchObject({ code: 'MCG_DISABLED', path: 'none' });
  const { judge, paths } = createJudge();
  expect(await judge([])).toMatchObject({ code: 'MCG_KNOWN_CONFIG', path: 'none' });
  expect([...disabled.paths, ...paths]).toEqual([]);
});

test('500 updates with one missing name share GETs, and made-up names send at most two at once', async () => {
  const get = async () => {
    await sleep(20);
    throw NOT_FOUND;
  };
  const shared = createJudge({ get });
  const same = await Promise.all(Array.from({ length: 500 }, async () => await shared.judge([TYPO])));
  expect(new Set(same.map(({ code }) => code))).toEqual(new Set(['MCG_UNKNOWN_CONFIG']));
  expect(shared.paths.length).toBeLessThanOrEqual(3);

  const madeUp = createJudge({ get });
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => await madeUp.judge([`made-up-${index}`])),
  );
  expect(madeUp.paths).toHaveLength(20);
  expect(madeUp.maxRunning()).toBe(2);
});

test('lets other work run between the look-ups of many names', async () => {
  const manyNames = Array.from({ length: 10_000 }, (_, index) => toConfigName(`rendered-worker-${index}`));
  const { judge } = createJudge({ names: () => new Set(manyNames) });
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await Promise.all(manyNames.slice(0, 100).map(async (name) => await judge([name])));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(20);
});
