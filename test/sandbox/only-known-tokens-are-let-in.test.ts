import { expect, test } from 'vitest';
import { ApiError } from '../../src/kube/errors.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../src/kube/connection.ts';
import { NODES, type TestCluster, startTestCluster } from '../support/test-cluster.ts';

/** Reads nodes with the guard's own client. Answers the status. */
async function statusWith(kubeconfig: string): Promise<number> {
  const api = new KubeApi(connectionFromKubeconfig(kubeconfig));
  try {
    const { status, body } = await api.request({ path: NODES, signal: AbortSignal.timeout(5_000) });
    body.resume();
    return status;
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  } finally {
    api.close();
  }
}

function lastUser(sandbox: TestCluster): string | undefined {
  return sandbox.audit.entries.at(-1)?.user.username;
}

test('the kubeconfig works as it is, and for any user', async () => {
  const sandbox = await startTestCluster();
  expect(await statusWith(sandbox.kubeconfig)).toBe(200);
  expect(lastUser(sandbox)).toBe('system:admin');
  expect(await statusWith(sandbox.kubeconfigFor('somebody'))).toBe(200);
  expect(lastUser(sandbox)).toBe('somebody');
});

test('a wrong, a revoked and a missing token are refused', async () => {
  const sandbox = await startTestCluster();
  const token = sandbox.tokens.issue('somebody');
  sandbox.tokens.revoke(token);
  expect(await statusWith(sandbox.kubeconfigWith(token))).toBe(401);
  expect(await statusWith(sandbox.kubeconfigWith('wrong'))).toBe(401);
  expect(await statusWith(sandbox.kubeconfigWith(undefined))).toBe(401);
});

test('without tokens, where that is wanted; a wrong one is refused all the same', async () => {
  const sandbox = await startTestCluster({ anonymous: true });
  expect(await statusWith(sandbox.kubeconfigWith(undefined))).toBe(200);
  expect(lastUser(sandbox)).toBe('system:anonymous');
  expect(await statusWith(sandbox.kubeconfigWith('wrong'))).toBe(401);
});
