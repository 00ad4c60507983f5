import { expect, test, vi } from 'vitest';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { memoryLog } from '../support/log.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { ConfigIndex } from '../../src/references/config-index.ts';

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
    paths.push(`${purpose?.name} ${path}`);
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

const GET = 'look-ups /apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-worker-a';

test.each([
  ['the config exists', 1, [CONFIG.uid], { state: 'exists' }],
  ['it has another uid', 1, ['uid-b'], { state: 'missing' }],
  ['it does not exist', 1, [NOT_FOUND], { state: 'missing' }],
  ['it exists after failures', 3, [REFUSED, new ApiError(503, '', ''), CONFIG.uid], { state: 'exists' }],
  ['it is not readable', 1, [new ApiError(403, 'Forbidden', 'forbidden')], { state: 'unknown' }],
  ['the token is rejected', 1, [new ApiError(401, 'Unauthorized', 'x')], { state: 'unknown' }],
  ['the API server is unreachable', 4, [REFUSED], { state: 'unknown', reason: 'refused' }],
  ['a proxy answers 404', 4, [new ApiError(404, '', 'x')], { state: 'unknown', reason: 'the API server answered 404' }],
] as const)('if %s, sends %i GETs, at most until the abort at the fourth', async (_case, count, answers, expected) => {
  const { paths, ...result } = await lookUp(answers, { maxGets: 4 });
  expect(result).toMatchObject(expected);
  expect(paths).toEqual(Array(count).fill(GET));
});
