import { expect, test } from 'vitest';
import { assertDryRunIsHonored, tryDryRunDeletion } from '../../../src/cli/protection/trial-deletion.ts';
import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import { toConfigName } from '../../../src/decision/config-name.ts';
import type { ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';

const CANDIDATE = { config: toConfigName('rendered-a'), uid: 'own' };
const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE';

/** A client that returns or throws this. */
function createApi(result: unknown) {
  const requests: ApiRequest[] = [];
  const json = async (request: ApiRequest): Promise<unknown> => {
    requests.push(request);
    if (result instanceof Error) throw result;
    return result;
  };
  return { api: { address: 'api:6443', json } as unknown as KubeApi, requests };
}

const apiError = (status: number, message = 'the reason'): ApiError => new ApiError(status, '', message);

test.each([apiError(404), apiError(422)])('exits with 3 if dry runs are not honored: %j', async (error) => {
  const message = expect.stringContaining(`answered ${error.status} the reason instead`) as string;
  const assertion = assertDryRunIsHonored(createApi(error).api);
  await expect(assertion).rejects.toMatchObject({ name: 'CliError', exitCode: 3, message });
});

test('returns the response, and sends dryRun and uid in the body', async () => {
  const { api, requests } = createApi({});
  expect(await tryDryRunDeletion(api, CANDIDATE)).toEqual({ status: 200, message: '' });
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'], preconditions: { uid: 'own' } };
  expect(requests).toMatchObject([{ path: expect.stringMatching(/\?dryRun=All$/) as string, body }]);
});

test.each([
  [403, DENIAL],
  [404, DENIAL],
  [500, 'failed calling webhook "guard.machineconfig-guard.io": EOF'],
  [422, "ValidatingAdmissionPolicy 'x' denied request: failed to configure policy"],
])('returns the answer %i of a webhook or a policy', async (status, message) => {
  expect(await tryDryRunDeletion(createApi(apiError(status, message)).api, CANDIDATE)).toEqual({ status, message });
});

test.each([404, 409])('returns undefined if the config is gone (%i)', async (status) => {
  expect(await tryDryRunDeletion(createApi(apiError(status)).api, CANDIDATE)).toBeUndefined();
});

test.each([
  apiError(401),
  apiError(403, 'User "x" cannot delete resource "machineconfigs"'),
  apiError(429),
  apiError(500, 'etcdserver: request timed out'),
  new ApiUnreachable('api:6443 cannot be reached: ECONNRESET'),
])('throws a ClusterAccessError if no webhook was called: %s', async (error) => {
  const trial = tryDryRunDeletion(createApi(error).api, CANDIDATE);
  await expect(trial).rejects.toThrow(ClusterAccessError);
  await expect(trial).rejects.toMatchObject({ access: { verb: 'delete', resource: 'machineconfigs' }, cause: error });
});
