import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startTestServer } from './test-server.ts';

const MAX_CONNECTIONS = 20;

test.each([
  ['silent TCP connections', false],
  ['TLS connections with half a request', true],
])('%s beyond the limit close each other and not a useful connection', async (_case, isTls) => {
  const { connectTcp, connectTls, createClient } = await startTestServer({
    maxConnections: MAX_CONNECTIONS,
  });
  const client = createClient();
  await client();
  let closedCount = 0;
  for (let index = 0; index < 3 * MAX_CONNECTIONS; index += 1) {
    const socket = isTls ? connectTls().on('error', () => {}) : connectTcp();
    socket.on('close', () => {
      closedCount += 1;
    });
    await once(socket, isTls ? 'secureConnect' : 'connect');
    if (isTls) socket.write('GET / HTTP/1.1\r\nX-Slow: ');
  }
  expect(await client()).toMatchObject({ body: 'ok', isReused: true });
  // Before the timeouts of the handshake and of the headers.
  await expect.poll(() => closedCount, { timeout: 8_000 }).toBeGreaterThanOrEqual(2 * MAX_CONNECTIONS);
  expect(await createClient()()).toMatchObject({ body: 'ok', isReused: false });
});

test('idle connections that were useful close each other and not the one that is in use', async () => {
  const { createClient } = await startTestServer({ maxConnections: MAX_CONNECTIONS });
  const client = createClient();
  for (let index = 0; index < 3 * MAX_CONNECTIONS; index += 1) {
    expect((await createClient()()).body).toBe('ok');
    expect(await client()).toMatchObject({ body: 'ok', isReused: index > 0 });
  }
});
