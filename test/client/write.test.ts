import { expect, test, vi } from 'vitest';
import { NEVER_ABORTED } from '../../src/common/wait.ts';
import { assertDryRunIsHonored } from '../../src/client/write.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';

const PROXY = 'the API server at api.example.com:6443 (or a proxy in front of it) does not honor dry runs: it answered';

test.each([
  [422, 'dryRun: Invalid value', undefined],
  [422, 'spec is invalid', `${PROXY} 422 spec is invalid instead of 422`],
  [400, 'dryRun: Invalid value', `${PROXY} 400 dryRun: Invalid value instead of 422`],
  [400, 'bad request', `${PROXY} 400 bad request instead of 422`],
  [404, 'not found', `${PROXY} 404 not found instead of 422`],
  [409, 'conflict', `${PROXY} 409 conflict instead of 422`],
  [401, 'unauthorized', 'cannot delete machineconfigs'],
  [403, 'forbidden', 'cannot delete machineconfigs'],
  [429, 'busy', 'cannot delete machineconfigs'],
  [503, 'shutting down', 'cannot delete machineconfigs'],
])('an answer %i "%s" to an invalid dry run is the error: %s', async (status, message, error) => {
  const json = vi.fn<(request: ApiRequest) => Promise<unknown>>(async () => {
    return await Promise.reject(new ApiError(status, '', message));
  });
  const api = { address: 'api.example.com:6443', json } as unknown as KubeApi;
  const path = '/apis/machineconfiguration.openshift.io/v1/machineconfigs/rendered-worker-1';
  const problem = await assertDryRunIsHonored(api, { method: 'DELETE', path }, NEVER_ABORTED).then(
    () => 'none',
    String,
  );
  expect(problem).toContain(error ?? 'none');
  // No object has this name.
  const target = path.replace('rendered-worker-1', 'machineconfig-guard-dry-run?dryRun=Invalid');
  expect(json.mock.calls).toMatchObject([[{ method: 'DELETE', path: target, body: { dryRun: ['Invalid'] } }]]);
});
