import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { ConfigLookup } from '../../src/references/config-lookup.ts';

const CONFIG = { name: toConfigName('rendered-worker-a'), uid: 'uid-a' };
const NOT_FOUND = new ApiError(404, 'NotFound', 'not found');

/** Looks up the config when a GET has these answers in turn, and the last one from then on. */
async function lookUp(
  answers: readonly (string | Error)[],
  { isIndexed = false, isForbidden = false, timeoutMs = 2_000 } = {},
) {
  const paths: string[] = [];
  const json = async ({ path }: ApiRequest): Promise<unknown> => {
    paths.push(path);
    const answer = answers[paths.length - 1] ?? answers.at(-1);
    if (answer instanceof Error) throw answer;
    return await Promise.resolve({ metadata: { name: CONFIG.name, uid: answer } });
  };
  const lookup = new ConfigLookup({ api: { json }, index: { has: () => isIndexed, isForbidden } });
  return { ...(await lookup.find(CONFIG, AbortSignal.timeout(timeoutMs))), paths };
}

test('finds an indexed config without a GET', async () => {
  expect(await lookUp([NOT_FOUND], { isIndexed: true })).toEqual({ state: 'exists', paths: [] });
});

const PATH = '/apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-worker-a';

test.each([
  ['exists', [CONFIG.uid], 'exists', 1],
  ['has another uid', ['uid-b'], 'missing', 1],
  ['does not exist', [NOT_FOUND], 'missing', 1],
  [
    'exists after a failure',
    [new ApiUnreachable('reset'), new ApiError(503, '', ''), CONFIG.uid],
    'exists',
    3,
  ],
  ['is behind a proxy that answers 404', [new ApiError(404, '', 'not found')], 'unknown', 0],
  ['is not readable', [new ApiError(403, 'Forbidden', 'forbidden')], 'unknown', 1],
] as const)('knows from a GET that a config %s', async (_case, answers, state, count) => {
  const { paths, ...result } = await lookUp(answers);
  expect(result.state).toBe(state);
  expect(new Set(paths)).toEqual(new Set([PATH]));
  // Other errors are retried until the time is over.
  if (count > 0) expect(paths).toHaveLength(count);
  else expect(paths.length).toBeGreaterThan(1);
});

test('does not know within the time if the API server cannot be reached', async () => {
  const result = await lookUp([new ApiUnreachable('connection refused')], { timeoutMs: 300 });
  expect(result).toMatchObject({ state: 'unknown', reason: 'connection refused' });
});

test('sends no GET without the right to read configs', async () => {
  expect(await lookUp([CONFIG.uid], { isForbidden: true })).toMatchObject({ state: 'unknown', paths: [] });
});

test('shares the GETs of one config, and sends few for many configs', async () => {
  let running = 0;
  let most = 0;
  let total = 0;
  const json = async (): Promise<unknown> => {
    total += 1;
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    throw NOT_FOUND;
  };
  const lookup = new ConfigLookup({ api: { json }, index: { has: () => false, isForbidden: false } });
  const same = Array.from({ length: 100 }, () => CONFIG);
  const others = same.map((_config, index) => ({ name: toConfigName(`rendered-${index}`), uid: 'x' }));
  await Promise.all(
    [...same, ...others].map(async (config) => await lookup.find(config, new AbortController().signal)),
  );
  expect(most).toBe(8);
  expect(total).toBe(100 + 3);
});
