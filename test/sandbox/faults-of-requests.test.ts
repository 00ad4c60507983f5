import { expect, test } from 'vitest';
import { NODES, POOLS, startTestCluster } from '../support/test-cluster.ts';

test('an interceptor decides about the requests that it wants, until it is taken away', async () => {
  const sandbox = await startTestCluster();
  const seen: string[] = [];
  const stop = sandbox.faults.intercept(({ method, path, query, watch }) => {
    seen.push(`${method} ${path} ${query.toString()} ${watch}`);
    return path === NODES
      ? { status: 429, headers: { 'retry-after': '1' }, body: { reason: 'TooManyRequests' } }
      : 'pass';
  });
  const refused = await sandbox.request('GET', `${NODES}?limit=1`);
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, body: { reason: 'TooManyRequests' } });
  expect((await sandbox.request('GET', POOLS)).status).toBe(200);
  stop();
  expect((await sandbox.request('GET', NODES)).status).toBe(200);
  expect(seen).toEqual([`GET ${NODES} limit=1 false`, `GET ${POOLS}  false`]);
});

test('a reset is a broken connection', async () => {
  const sandbox = await startTestCluster();
  sandbox.faults.intercept(() => 'reset');
  await expect(sandbox.request('GET', NODES)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('a request that hangs stays without an answer, a delayed one gets it later', async () => {
  const sandbox = await startTestCluster();
  sandbox.faults.intercept(({ path }) => (path === NODES ? 'hang' : { delayMs: 100 }));
  const begunAt = Date.now();
  const hanging = sandbox.request('GET', NODES).catch(() => 'cut');
  expect((await sandbox.request('GET', POOLS)).status).toBe(200);
  expect(Date.now() - begunAt).toBeGreaterThanOrEqual(95);
  sandbox.faults.cutConnections();
  expect(await hanging).toBe('cut');
});

test('an answer can break off or stall in its middle', async () => {
  const sandbox = await startTestCluster();
  sandbox.create('nodes', { metadata: { name: 'a' } });
  const stop = sandbox.faults.intercept(() => ({ cutAfterBytes: 20 }));
  await expect(sandbox.request('GET', NODES)).rejects.toThrow('aborted');
  stop();
  sandbox.faults.intercept(() => ({ stallAfterBytes: 20 }));
  const stalled = sandbox.request('GET', NODES).catch((error: Error) => error.message);
  const first = await Promise.race([stalled, new Promise((resolve) => setTimeout(resolve, 100, 'still waiting'))]);
  expect(first).toBe('still waiting');
  sandbox.faults.cutConnections();
  expect(await stalled).toBe('aborted');
});

test('a server that is down refuses connections and comes back at the same address, with everything', async () => {
  const sandbox = await startTestCluster();
  const { url } = sandbox;
  sandbox.create('nodes', { metadata: { name: 'a' } });
  await sandbox.faults.goDown();
  await expect(sandbox.request('GET', NODES)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await sandbox.faults.comeUp();
  expect(sandbox.url).toBe(url);
  expect((await sandbox.request('GET', `${NODES}/a`)).status).toBe(200);
});

test('clear ends every fault', async () => {
  const sandbox = await startTestCluster();
  sandbox.faults.intercept(() => 'reset');
  sandbox.faults.clear();
  expect((await sandbox.request('GET', NODES)).status).toBe(200);
});
