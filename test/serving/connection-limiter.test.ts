import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import type { RequestHandler } from 'express';
import { expect, test } from 'vitest';
import { ConnectionLimiter } from '../../src/serving/connection-limiter.ts';
import { startTestServer } from './test-server.ts';

const MAX_CONNECTIONS = 10;

/** Starts a server that answers `/late` when `answer` is called. */
async function startLimitedServer() {
  const connections = new ConnectionLimiter(MAX_CONNECTIONS);
  let lateCount = 0;
  let answer: () => void = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const handler: RequestHandler = (request, response, next) => {
    if (request.path === '/late') {
      lateCount += 1;
      void answered.then(() => response.send('late'));
    } else if (request.path !== '/upload') next();
  };
  const server = await startTestServer({ connections, handler });
  return { ...server, answer, lateCount: () => lateCount };
}

/** Opens connections that each send this, and returns how to count the closed ones. */
async function openMany(connect: () => TLSSocket, count: number, sent: string) {
  const sockets: TLSSocket[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = connect().on('error', () => {});
    await once(socket.resume(), 'secureConnect');
    socket.write(sent);
    sockets.push(socket);
  }
  return () => sockets.filter(({ closed }) => closed).length;
}

test.each([
  ['with half a request', 'GET / HTTP/1.1\r\nX-Slow: '],
  ['with an answered request', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['whose body still arrives', 'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n'],
])('connections %s close each other, and not one with a later request', async (_case, sent) => {
  const { connectTls, createClient } = await startLimitedServer();
  const client = createClient();
  await client();
  for (let round = 0; round < 3; round += 1) {
    const closedCount = await openMany(connectTls, MAX_CONNECTIONS - 1, sent);
    expect(await client()).toMatchObject({ body: 'ok', isReused: true });
    expect(closedCount()).toBe(0);
  }
  const closedCount = await openMany(connectTls, MAX_CONNECTIONS, sent);
  expect(await client()).toMatchObject({ isReused: false });
  await expect.poll(closedCount).toBe(1);
});

test('a connection with an unanswered request stays open beyond the limit', async () => {
  const { createClient, answer, lateCount } = await startLimitedServer();
  const answers = Array.from({ length: MAX_CONNECTIONS }, async () => (await createClient()('/late')).body);
  await expect.poll(lateCount).toBe(MAX_CONNECTIONS);
  await expect(createClient()()).rejects.toThrow(/ECONNRESET|socket hang up|disconnected/);
  answer();
  expect(await Promise.all(answers)).toEqual(answers.map(() => 'late'));
});

const LATE = 'GET /late HTTP/1.1\r\nHost: x\r\n';

test('a client that closes its connection before the answer leaves its place to others', async () => {
  const { connectTls, createClient, lateCount } = await startLimitedServer();
  const sockets = Array.from({ length: MAX_CONNECTIONS }, () => connectTls().on('error', () => {}));
  for (const socket of sockets) socket.write(`${LATE}\r\n`);
  await expect.poll(lateCount).toBe(MAX_CONNECTIONS);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => await createClient()().catch(String)).toMatchObject({ body: 'ok' });
});

const CHUNKS = 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n';

test.each([
  ['a second request before the answer to the first', `${LATE}\r\n`.repeat(2), 1],
  ['a body in chunks after 2,000 headers', LATE + 'a:\r\n'.repeat(2_000) + CHUNKS, 0],
])('closes a connection that sends %s', async (_case, sent, handledCount) => {
  const { connectTls, lateCount } = await startLimitedServer();
  const closedCount = await openMany(connectTls, 1, sent);
  await expect.poll(closedCount).toBe(1);
  expect(lateCount()).toBe(handledCount);
});
