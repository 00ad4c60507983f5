import { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { NEVER_ABORTED } from '../../src/common/wait.ts';
import { startTestCluster } from '../support/test-cluster.ts';

/** The server of the test has Node's default. */
const HANDSHAKE_OF_NODE_MS = 120_000;

test('suspects a connection after 1 s without a response to a GET, and closes it if idle for 5 s', async () => {
  const cluster = await startTestCluster();
  const api = cluster.connect();
  // Node measures with a clock of its own.
  const setTimeout = vi.spyOn(Socket.prototype, 'setTimeout');
  await api.json({ path: '/api/v1/nodes', signal: NEVER_ABORTED });
  const isOfClient = (ms: number) => ms > 0 && ms !== HANDSHAKE_OF_NODE_MS;
  const timeouts = new Set(setTimeout.mock.calls.map(([ms]) => ms).filter(isOfClient));
  expect(timeouts).toEqual(new Set([1_000, 5_000]));
});
