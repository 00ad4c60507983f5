import { expect, onTestFinished, test } from 'vitest';
import { createHealthServer } from '../../src/webhook/health-server.ts';
import { close, listen } from '../../src/webhook/tls-server.ts';

test.each([
  ['GET', '/healthz', 'not read yet', '200 ok'],
  ['GET', '/readyz?verbose', undefined, '200 ok'],
  ['GET', '/readyz', 'not read yet', '503 not read yet'],
  ['POST', '/readyz', undefined, '405 method not allowed: /healthz and /readyz are here'],
])('%s %s of a guard whose problem is %j answers %j', async (method, path, problem, expected) => {
  const server = createHealthServer(() => problem);
  const port = await listen(server, 0, '127.0.0.1');
  onTestFinished(async () => await close(server, 0));
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  expect(`${response.status} ${(await response.text()).trim()}`).toBe(expected);
});
