import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { ConfigLookup } from '../../src/references/config-lookup.ts';

const CONFIG = { name: toConfigName('rendered-worker-a'), uid: 'uid-a', createdAt: undefined };
const NOT_FOUND = new ApiError(404, 'NotFound', 'not found');

/** Looks up the config when the GETs have these answers in turn, and later ones the last, until `maxGets` were sent. */
async function lookUp(
  answers: readonly (string | Error)[],
  { isIndexed = false, isForbidden = false, maxGets = 10 } = {},
) {
  const paths: string[] = [];
  const deadline = new AbortController();
  const json = async ({ path }: ApiRequest): Promise<unknown> => {
    paths.push(path);
    if (paths.length === maxGets) deadline.abort();
    const answer = answers[paths.length - 1] ?? answers.at(-1);
    if (answer instanceof Error) throw answer;
    const metadata = { name: CONFIG.name, uid: answer, creationTimestamp: '2026-11-20T10:00:00Z' };
    return await Promise.resolve({ metadata });
  };
  const lookup = new ConfigLookup({ json }, { has: () => isIndexed, isForbidden });
  return { ...(await lookup.find(CONFIG, deadline.signal)), paths };
}

test('sends no GET for an indexed config, and none without the right to read configs', async () => {
  expect(await lookUp([NOT_FOUND], { isIndexed: true })).toEqual({ state: 'exists', paths: [] });
  expect(await lookUp([CONFIG.uid], { isForbidden: true })).toMatchObject({ state: 'unknown', paths: [] });
});

const PATH = '/apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-worker-a';

test.each([
  ['exists', [CONFIG.uid], 'exists', 1],
  ['has another uid', ['uid-b'], 'missing', 1],
  ['does not exist', [NOT_FOUND], 'missing', 1],
  ['exists after a failure', [new ApiUnreachable('reset'), new ApiError(503, '', ''), CONFIG.uid], 'exists', 3],
  ['is not readable', [new ApiError(403, 'Forbidden', 'forbidden')], 'unknown', 1],
] as const)('knows from a GET that a config %s', async (_case, answers, state, count) => {
  const { paths, ...result } = await lookUp(answers);
  expect(result.state).toBe(state);
  expect(new Set(paths)).toEqual(new Set([PATH]));
  expect(paths).toHaveLength(count);
});

test.each([
  ['is unreachable', new ApiUnreachable('connection refused'), 'connection refused'],
  ['is behind a proxy that answers 404', new ApiError(404, '', 'x'), 'the API server answered 404'],
])('retries until the abort if the API server %s', async (_title, error, reason) => {
  const { paths, ...result } = await lookUp([error], { maxGets: 3 });
  expect(result).toEqual({ state: 'unknown', reason });
  expect(paths).toHaveLength(3);
});

/** Looks up configs whose GETs this function answers, and counts the GETs. */
function createLookup(answer: () => Promise<unknown>) {
  const counts = { running: 0, most: 0, total: 0 };
  const json = async (): Promise<unknown> => {
    counts.total += 1;
    counts.running += 1;
    counts.most = Math.max(counts.most, counts.running);
    return await answer().finally(() => (counts.running -= 1));
  };
  return { lookup: new ConfigLookup({ json }, { has: () => false, isForbidden: false }), counts };
}

test('sends at most eight GETs at the same time', async () => {
  const { lookup, counts } = createLookup(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    throw NOT_FOUND;
  });
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 100 }, async () => await lookup.find(CONFIG, signal)));
  expect(counts).toEqual({ running: 0, most: 8, total: 100 });
});

test('does not wait for its turn after the abort, and then sends no GET', async () => {
  const { lookup, counts } = createLookup(async () => await new Promise(() => {}));
  for (let count = 0; count < 8; count += 1) void lookup.find(CONFIG, new AbortController().signal);
  const late = new AbortController();
  const result = lookup.find(CONFIG, late.signal);
  late.abort();
  expect(await result).toMatchObject({ state: 'unknown' });
  expect(counts.total).toBe(8);
});
