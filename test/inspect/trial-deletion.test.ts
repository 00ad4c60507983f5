import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { DryRunError, tryDryRunDeletion } from '../../src/inspect/trial-deletion.ts';
import type { ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';

const CANDIDATE = { config: toConfigName('rendered-worker-b4983d88dabdc54ecf977ee120fd3796'), uid: 'own' };

/** A client whose deletions succeed and whose GET returns this metadata, or a 404 if it is undefined. */
function createApi(metadata: object | undefined): { readonly api: KubeApi; readonly requests: ApiRequest[] } {
  const requests: ApiRequest[] = [];
  const json = async (request: ApiRequest): Promise<unknown> => {
    requests.push(request);
    if (request.method === 'DELETE') return { kind: 'Status' };
    if (metadata === undefined) throw new ApiError(404, 'NotFound', 'not found');
    return { metadata };
  };
  return { api: { address: 'api:6443', json } as unknown as KubeApi, requests };
}

test.each([
  ['does not exist', undefined],
  ['has another uid', { uid: 'another' }],
  ['is being deleted', { uid: 'own', deletionTimestamp: '2026-11-21T00:00:00Z' }],
])('throws a DryRunError if the config %s after the dry run', async (_condition, metadata) => {
  const trial = tryDryRunDeletion(createApi(metadata).api, CANDIDATE);
  await expect(trial).rejects.toThrow(DryRunError);
  await expect(trial).rejects.toThrow(/^rendered-worker-\w+ is gone after a dry run: .* audit log/);
});

test('returns the response if the config still exists, and sends dryRun and uid in the body', async () => {
  const { api, requests } = createApi({ uid: 'own' });
  expect(await tryDryRunDeletion(api, CANDIDATE)).toEqual({ status: 200, message: '' });
  const [{ path, body } = {}] = requests;
  expect(path).toMatch(/\?dryRun=All$/);
  const preconditions = { uid: 'own' };
  expect(body).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'], preconditions });
});
