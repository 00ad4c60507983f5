import { CliError } from '../../../src/client/exit.ts';
import { describe, expect, test } from 'vitest';
import { toConfigName } from '../../../src/decision/config-name.ts';
import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import { assertDryRunIsHonored, tryDryRunDeletion } from '../../../src/cli/protection/trial-deletion.ts';
import type { ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../../src/kube/errors.ts';

const CANDIDATE = { config: toConfigName('rendered-a'), uid: 'own' };
const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE';

/** A client whose DELETE and GET return or throw these. */
function createApi(onDelete: unknown, onGet?: unknown) {
  const requests: ApiRequest[] = [];
  const json = async (request: ApiRequest): Promise<unknown> => {
    requests.push(request);
    const result = request.method === 'DELETE' ? onDelete : onGet;
    if (result instanceof Error) throw result;
    return result;
  };
  return { api: { address: 'api:6443', json } as unknown as KubeApi, requests };
}

const apiError = (status: number, message = 'the reason'): ApiError => new ApiError(status, '', message);

describe('assertDryRunIsHonored', () => {
  test('accepts a rejected value of dryRun', async () => {
    const { api, requests } = createApi(apiError(422, 'dryRun: Unsupported value: "Proof"'));
    await assertDryRunIsHonored(api);
    expect(requests.map(({ path }) => path)).toEqual([expect.stringMatching(/-guard-verify\?dryRun=Proof$/)]);
  });

  test.each([apiError(404), apiError(422)])('throws a CliError after the answer %j', async (error) => {
    const message = expect.stringContaining(`answered ${error.status} the reason instead`) as string;
    const assertion = assertDryRunIsHonored(createApi(error).api);
    await expect(assertion).rejects.toMatchObject({ name: 'CliError', exitCode: 3, message });
  });
});

describe('tryDryRunDeletion', () => {
  test('returns the response, and sends dryRun and uid in the body', async () => {
    const { api, requests } = createApi({}, { metadata: { uid: 'own' } });
    expect(await tryDryRunDeletion(api, CANDIDATE)).toEqual({ status: 200, message: '' });
    const [{ path, body } = {}] = requests;
    expect(path).toMatch(/\?dryRun=All$/);
    const preconditions = { uid: 'own' };
    expect(body).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      dryRun: ['All'],
      preconditions,
    });
  });

  test.each([
    ['does not exist', apiError(404)],
    ['has another uid', { metadata: { uid: 'another' } }],
    ['is being deleted', { metadata: { uid: 'own', deletionTimestamp: '2026-11-21T00:00:00Z' } }],
  ])('throws a CliError if the config %s after the dry run', async (_condition, onGet) => {
    const trial = tryDryRunDeletion(createApi({}, onGet).api, CANDIDATE);
    await expect(trial).rejects.toThrow(CliError);
    await expect(trial).rejects.toThrow(/^rendered-a no longer exists after the dry run: .* audit log/);
  });

  test.each([
    [403, DENIAL],
    [404, DENIAL],
    [500, 'failed calling webhook "guard.machineconfig-guard.io": EOF'],
    [500, "ValidatingAdmissionPolicy 'nodes.machineconfig-guard.io' denied request: MCG_IN_USE"],
  ])('returns the denial with status %i and message %j', async (status, message) => {
    const { api } = createApi(apiError(status, message));
    expect(await tryDryRunDeletion(api, CANDIDATE)).toEqual({ status, message });
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
    await expect(trial).rejects.toMatchObject({
      access: { verb: 'delete', resource: 'machineconfigs' },
      cause: error,
    });
  });
});
