import { expect, test } from 'vitest';
import { accessCluster, ClusterAccessError, isRetryableRead } from '../../src/client/cluster-access.ts';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { ApiError, ApiUnreachable, CredentialsError, MalformedList } from '../../src/kube/errors.ts';

const PATH = '/api/v1/nodes';

async function fail(error: Error, signal = new AbortController().signal): Promise<unknown> {
  try {
    return await accessCluster('list', PATH, signal, () => {
      throw error;
    });
  } catch (thrown) {
    return thrown;
  }
}

test.each([
  new ApiError(500, '', 'down'),
  new ApiUnreachable('reset'),
  new CredentialsError('no file'),
  new MalformedList('cut'),
  new MalformedObject('a node has no name'),
  new DOMException('late', 'TimeoutError'),
])('names the access that failed with %s', async (cause) => {
  const error = await fail(cause);
  expect(error).toBeInstanceOf(ClusterAccessError);
  expect(error).toMatchObject({ cause, access: { verb: 'list', resource: 'nodes' } });
});

test('throws a bug and the reason of the signal unchanged', async () => {
  const bug = new TypeError('x is not a function');
  expect(await fail(bug)).toBe(bug);
  const reason = new Error('stop');
  expect(await fail(bug, AbortSignal.abort(reason))).toBe(reason);
});

test('retries neither a bug nor rejected credentials', async () => {
  expect(isRetryableRead(new TypeError('x'))).toBe(false);
  expect(isRetryableRead(await fail(new ApiError(401, 'Unauthorized', 'no')))).toBe(false);
  expect(isRetryableRead(await fail(new ApiError(500, '', 'down')))).toBe(true);
});
