import { expect, test } from 'vitest';
import { StepRun } from '../../../src/cli/steps/step-run.ts';
import type { Write } from '../../../src/client/write.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';

const LOST = new ApiUnreachable('reset', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
const CONFLICT = new ApiError(409, 'Conflict', 'the object has been modified');

test.each<[string, Write['method'], readonly Error[], boolean, string]>([
  ['an attempt without an answer, and then a conflict', 'PATCH', [LOST, CONFLICT], true, 'failed'],
  ['a conflict', 'PATCH', [CONFLICT], false, 'failed'],
  [
    'a deletion of an object that is gone',
    'DELETE',
    [new ApiError(404, 'NotFound', 'not found')],
    false,
    'unnecessary',
  ],
])('after %s, knows whether it can have written', async (_case, method, errors, hasWritten, state) => {
  const stop = new AbortController();
  const answers = errors.values();
  const api = { address: 'test', json: async () => await Promise.reject(answers.next().value ?? CONFLICT) };
  const options = { isConfirmed: true, timeoutMs: 60_000, sleep: async () => {}, signal: stop.signal };
  const run = new StepRun(api as unknown as KubeApi, options);
  const step = { action: 'Test', description: 'test', write: { method, path: '/a/b', body: {} } };
  let looks = 0;
  const taken = run.take(step, async () => {
    looks += 1;
    if (looks > errors.length) stop.abort();
    return await Promise.resolve(stop.signal.throwIfAborted() ?? step);
  });
  await taken.catch(() => {});
  const { written } = run.buildReport(undefined);
  expect([written, run.listReports([step])[0]?.state]).toEqual([hasWritten, state]);
});
